//! Tick records, newest first.

use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Params, page_size};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    dispatch_group: Option<String>,
    limit: Option<usize>,
}

pub async fn list(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::TickPage>, ApiError> {
    let limit = page_size(wanted.limit)?;
    Ok(Json(app.read(move |browse| answers::ticks(browse, wanted.dispatch_group.as_deref(), limit)).await?))
}
