//! Archive and purge: whole settled trees leave the live tables, one page a request.

use super::operate::Reason;
use crate::access::Caller;
use crate::app::App;
use crate::convert;
use crate::error::ApiError;
use crate::extract::{Params, Posted};
use axum::Json;
use axum::extract::State;
use model::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use store::{Asked, Retaining, Retention};

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct How {
    dry_run: bool,
}

pub async fn retain(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(How { dry_run }): Params<How>,
    Posted(body): Posted<wire::RetentionBody>,
) -> Result<Json<wire::RetainedView>, ApiError> {
    let (what, why, by) = retention(body);
    let (who, why) = (caller.signed(by)?, Reason::Needed.unless(dry_run).said(why)?);
    let how = if dry_run { Retaining::Tried } else { Retaining::Done(Asked { who, why: Some(why) }) };
    let retained = app.site.engine.with_store(move |store| store.retain(what, how)).await??;
    Ok(Json(convert::retained_view(&retained)))
}

/// What leaves, why, and who says so.
fn retention(body: wire::RetentionBody) -> (Retention, Option<String>, Option<String>) {
    match body {
        wire::RetentionBody::Archive { before, why, by } => {
            (Retention::Archive { before: Timestamp(before) }, why, by)
        }
        wire::RetentionBody::Purge { before, only_archive, ticks, why, by } => {
            (Retention::Purge { before: Timestamp(before), only_archive, ticks }, why, by)
        }
    }
}
