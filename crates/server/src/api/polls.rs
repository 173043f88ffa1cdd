//! Polls: the steps that wait for their next one, and those that somebody should have polled.

use super::operate::How;
use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Params, Posted, page_size};
use axum::Json;
use axum::extract::State;
use engine::PollRecovery;
use model::limits;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use store::PollFilter;

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    due: bool,
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    limit: Option<usize>,
    after: Option<String>,
}

pub async fn list(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::PollPage>, ApiError> {
    let strange =
        |text: &str| ApiError::BadRequest(format!("after: `{text}` is not the `next` of a page before"));
    let after = wanted.after.map(|text| answers::read_poll_cursor(&text).ok_or_else(|| strange(&text)));
    let now = app.now();
    let due_at = wanted.due.then_some(now);
    let filter = PollFilter { due_at, after: after.transpose()?, limit: page_size(wanted.limit)? };
    Ok(Json(app.read(move |browse| answers::polls(browse, &filter, now)).await?))
}

pub async fn recover(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(How { dry_run }): Params<How>,
    Posted(body): Posted<wire::RecoverBody>,
) -> Result<Json<wire::RecoveredView>, ApiError> {
    let older = body.older_seconds.map_or(limits::POLL_STALE, Duration::from_secs).min(limits::WAIT_MAX);
    let recovery = PollRecovery { older, by: caller.signed(body.by)?, dry_run };
    let steps = app.site.engine.recover_polls(recovery).await?;
    Ok(Json(wire::RecoveredView { steps: steps.iter().map(ToString::to_string).collect(), dry_run }))
}
