//! Whether it is safe to restart: the breaker is off and no worker holds a step.

use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Params;
use axum::Json;
use axum::extract::State;
use engine::EngineError;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scope {
    dispatch_group: Option<String>,
}

pub async fn show(
    State(app): State<Arc<App>>,
    Params(Scope { dispatch_group }): Params<Scope>,
) -> Result<Json<wire::DrainView>, ApiError> {
    let (now, scope) = (app.now(), dispatch_group.clone());
    let found = app.read(move |browse| answers::drain(browse, scope.as_deref(), now)).await?;
    found.map(Json).ok_or_else(|| EngineError::NoGroup(dispatch_group.unwrap_or_default()).into())
}
