//! The course of one workflow: its events, its decisions, and the items of its fan-outs.

use crate::answers::{self, NoItems};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Params, Path, ThisWorkflow, page_size};
use crate::pages::{Wanted, place_in_time};
use axum::Json;
use axum::extract::State;
use engine::EngineError;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WantedEvents {
    after: Option<u64>,
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    limit: Option<usize>,
}

pub async fn events(
    State(app): State<Arc<App>>,
    ThisWorkflow(id): ThisWorkflow,
    Params(wanted): Params<WantedEvents>,
) -> Result<Json<wire::WorkflowEventPage>, ApiError> {
    let (after, limit) = (wanted.after.unwrap_or_default(), page_size(wanted.limit)?);
    // The databases count no further.
    let after = after.min(i64::MAX.unsigned_abs());
    let found = app.read(move |browse| answers::events(browse, id, after, limit)).await?;
    found.map(Json).ok_or(ApiError::Engine(EngineError::NoWorkflow(id)))
}

pub async fn decisions(
    State(app): State<Arc<App>>,
    ThisWorkflow(id): ThisWorkflow,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::DecisionPage>, ApiError> {
    let limit = wanted.whole()?;
    // The kind stands before the key, which may hold anything.
    let after = place_in_time(wanted.after.as_deref())?.map(|(at, kind, key)| (at, key, kind));
    let found = app.read(move |browse| answers::decisions_behind(browse, id, after.as_ref(), limit)).await?;
    found.map(Json).ok_or(ApiError::Engine(EngineError::NoWorkflow(id)))
}

#[derive(Deserialize, JsonSchema)]
pub struct Named {
    key: String,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WantedItems {
    after: Option<u32>,
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    limit: Option<usize>,
}

pub async fn items(
    State(app): State<Arc<App>>,
    ThisWorkflow(id): ThisWorkflow,
    Path(Named { key }): Path<Named>,
    Params(wanted): Params<WantedItems>,
) -> Result<Json<wire::ItemPage>, ApiError> {
    let (after, limit, named) = (wanted.after, page_size(wanted.limit)?, key.clone());
    let found = app.read(move |browse| answers::items(browse, (id, &named), after, limit)).await?;
    found.map(Json).map_err(|why| match why {
        NoItems::NoWorkflow => ApiError::Engine(EngineError::NoWorkflow(id)),
        NoItems::NoStep => ApiError::NotFound(format!("workflow {id} has no step `{key}`")),
        NoItems::NotAFanOut => ApiError::NotFound(format!("step `{key}` is no fan-out, so it has no items")),
    })
}
