//! Archive and purge: whole settled trees leave the live tables, one page a request.

use crate::app::App;
use crate::convert;
use crate::error::ApiError;
use crate::extract::{Params, Posted};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use std::sync::Arc;
use store::Retention;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct How {
    dry_run: bool,
}

pub async fn retain(
    State(app): State<Arc<App>>,
    Params(How { dry_run }): Params<How>,
    Posted(what): Posted<Retention>,
) -> Result<Json<wire::RetainedView>, ApiError> {
    let retained = app.site.engine.with_store(move |store| store.retain(what, dry_run)).await??;
    Ok(Json(convert::retained_view(&retained)))
}
