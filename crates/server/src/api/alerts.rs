//! Open alerts.

use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use axum::Json;
use axum::extract::State;
use std::sync::Arc;

pub async fn list(State(app): State<Arc<App>>) -> Result<Json<wire::AlertPage>, ApiError> {
    Ok(Json(app.read(answers::alerts).await?))
}
