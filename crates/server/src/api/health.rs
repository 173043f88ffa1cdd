//! Whether the process lives, and whether it can do its work.

use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;
use crate::looks::Age;
use axum::Json;
use axum::extract::State;
use model::limits;
use std::sync::Arc;

pub async fn livez() -> &'static str {
    "ok\n"
}

/// Whoever may not set it right learns whether, and not why.
pub async fn readyz(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<wire::ReadyView>, ApiError> {
    let is_inside = caller.learns_the_inside();
    let age = if is_inside { Age::None } else { Age::Short };
    ready(&app, age).await.map_err(|problem| match is_inside {
        true => problem,
        false => ApiError::NotReady("it is not ready; ask with a key that may operate for the reason".into()),
    })
}

async fn ready(app: &App, age: Age) -> Result<Json<wire::ReadyView>, ApiError> {
    if app.site.engine.is_stopping() {
        return Err(ApiError::NotReady("it is stopping; what it does is being finished".into()));
    }
    if !app.site.engine.is_healthy() {
        return Err(ApiError::NotReady("the last commit did not go through; nothing new is accepted".into()));
    }
    let read = app.read_afresh(age).await;
    read.map_err(|problem| ApiError::NotReady(format!("the database cannot be read: {problem}")))?;
    if let Some(trouble) = app.site.processing.as_ref().and_then(|processing| processing.trouble()) {
        return Err(ApiError::NotReady(trouble));
    }
    if app.site.engine.is_stalled() {
        let minutes = limits::NO_PROGRESS.as_secs() / 60;
        let problem = format!("work waits, and no step has ended for over {minutes} minutes");
        return Err(ApiError::NotReady(format!("{problem}; `stepfast alerts list` says where")));
    }
    Ok(Json(wire::ReadyView { ready: true }))
}
