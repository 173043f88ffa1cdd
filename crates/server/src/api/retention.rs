//! Archive and purge: whole settled trees leave the live tables, one page a request.

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
use store::{AuditEntry, Retained, Retention};

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
    let (by, what) = (caller.signed(None)?, retention(body));
    let retained = app.site.engine.with_store(move |store| store.retain(what, dry_run)).await??;
    if !dry_run && retained.trees + retained.ticks > 0 {
        app.site.engine.put_on_record(record(by, what, &retained)).await?;
    }
    Ok(Json(convert::retained_view(&retained)))
}

fn retention(body: wire::RetentionBody) -> Retention {
    match body {
        wire::RetentionBody::Archive { before } => Retention::Archive { before: Timestamp(before) },
        wire::RetentionBody::Purge { before, only_archive, ticks } => {
            Retention::Purge { before: Timestamp(before), only_archive, ticks }
        }
    }
}

fn record(who: String, what: Retention, taken: &Retained) -> AuditEntry {
    let (verb, before) = match what {
        Retention::Archive { before } => ("archive", before),
        Retention::Purge { before, .. } => ("purge", before),
    };
    let target = format!("{} trees with {} steps, {} ticks", taken.trees, taken.steps, taken.ticks);
    let why = Some(format!("nothing happened in them since {}", convert::instant(before)));
    AuditEntry { who, verb: verb.into(), target, why, before: None, after: None }
}
