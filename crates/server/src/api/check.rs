//! Looks for anything that must not be, over one moment of the whole database.

use crate::app::App;
use crate::convert;
use crate::error::ApiError;
use axum::Json;
use axum::extract::State;
use std::sync::Arc;

pub async fn check(State(app): State<Arc<App>>) -> Result<Json<wire::CheckView>, ApiError> {
    let now = app.now();
    let checked = app.read(move |browse| browse.check(now, false, |_, _| {})).await?;
    Ok(Json(convert::check_view(&checked)))
}
