//! How far something is, and what is half done.

use super::flows::missing;
use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Params, ThisFlow, ThisStep, ThisWorkflow};
use axum::Json;
use axum::extract::State;
use engine::EngineError;
use model::{StepId, limits};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use wire::{ProgressPage, ProgressShow};

/// Rows of a page when a request does not say.
const ROWS_DEFAULT: usize = 50;

pub async fn workflow(
    State(app): State<Arc<App>>,
    ThisWorkflow(id): ThisWorkflow,
) -> Result<Json<ProgressShow>, ApiError> {
    let now = app.now();
    let found = app.read(move |browse| answers::workflow_progress(browse, id, now)).await?;
    Ok(Json(found.ok_or(ApiError::Engine(EngineError::NoWorkflow(id)))?))
}

pub async fn step(
    State(app): State<Arc<App>>,
    ThisStep(id): ThisStep,
) -> Result<Json<ProgressShow>, ApiError> {
    let now = app.now();
    let found = app.read(move |browse| answers::step_progress(browse, id, now)).await?;
    Ok(Json(found.ok_or(ApiError::Engine(EngineError::NoStep(id)))?))
}

pub async fn flow(
    State(app): State<Arc<App>>,
    ThisFlow(id): ThisFlow,
) -> Result<Json<ProgressShow>, ApiError> {
    let found = app.read(move |browse| answers::flow_progress(browse, id)).await?;
    Ok(Json(found.ok_or_else(|| missing(id))?))
}

/// The parameters of the list, as written.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    pub half_done: Option<bool>,
    #[schemars(range(min = 1, max = model::limits::HALF_DONE_PAGE_MAX))]
    pub limit: Option<usize>,
    pub after: Option<String>,
}

impl Wanted {
    pub fn page(&self) -> Result<(Option<[u8; 16]>, usize), ApiError> {
        let bad = |problem: String| Err(ApiError::BadRequest(problem));
        if self.half_done == Some(false) {
            return bad("half_done: only what is half done is listed; leave it out or write true".into());
        }
        let limit = self.limit.unwrap_or(ROWS_DEFAULT);
        if !(1..=limits::HALF_DONE_PAGE_MAX).contains(&limit) {
            return bad(format!("limit: {limit} is not between 1 and {}", limits::HALF_DONE_PAGE_MAX));
        }
        let after = match self.after.as_deref().map(|text| (text, text.parse::<StepId>())) {
            None => None,
            Some((_, Ok(id))) => Some(*id.bytes()),
            Some((text, Err(_))) => {
                return bad(format!("after: `{text}` is not a cursor; use `next` of the page before"));
            }
        };
        Ok((after, limit))
    }
}

pub async fn half_done(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<ProgressPage>, ApiError> {
    let ((after, limit), now) = (wanted.page()?, app.now());
    Ok(Json(app.read(move |browse| answers::half_done(browse, after, limit, now)).await?))
}
