//! Tick records, newest first.

use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Params, page_size};
use crate::pages::place;
use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    dispatch_group: Option<String>,
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    limit: Option<usize>,
    /// `next` of the page before.
    after: Option<String>,
}

pub async fn list(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::TickPage>, ApiError> {
    let (limit, after) = (page_size(wanted.limit)?, place(wanted.after.as_deref())?);
    let group = wanted.dispatch_group;
    Ok(Json(app.read(move |browse| answers::ticks(browse, group.as_deref(), after, limit)).await?))
}
