//! Nodes and their worker sessions.

use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use axum::Json;
use axum::extract::State;
use std::sync::Arc;

pub async fn list(State(app): State<Arc<App>>) -> Result<Json<wire::NodePage>, ApiError> {
    let now = app.now();
    Ok(Json(app.read(move |browse| answers::nodes(browse, now)).await?))
}
