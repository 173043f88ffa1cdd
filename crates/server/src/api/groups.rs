//! Dispatch groups.

use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use axum::Json;
use axum::extract::State;
use std::sync::Arc;

pub async fn list(State(app): State<Arc<App>>) -> Result<Json<wire::GroupPage>, ApiError> {
    let now = app.now();
    Ok(Json(app.read(move |browse| answers::groups(browse, now)).await?))
}
