//! What a person does to one step: complete, fail, stop, skip, cancel, retry.

use crate::app::App;
use crate::convert;
use crate::error::ApiError;
use crate::extract::{Params, Posted, ThisStep};
use axum::Json;
use axum::extract::{Path, State};
use engine::{Operation, Verb};
use model::limits;
use serde::Deserialize;
use std::sync::Arc;

/// Who acts when a request does not say so.
pub const BY_DEFAULT: &str = "api";
const WHY_DEFAULT: &str = "by hand";
/// Bytes of an explanation.
const WHY_BYTES_MAX: usize = 4_096;

#[derive(Deserialize)]
pub struct Named {
    verb: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct How {
    dry_run: bool,
}

pub async fn operate(
    State(app): State<Arc<App>>,
    ThisStep(step): ThisStep,
    Path(Named { verb }): Path<Named>,
    Params(How { dry_run }): Params<How>,
    Posted(body): Posted<wire::OperateBody>,
) -> Result<Json<wire::OperatedView>, ApiError> {
    let verb = which(&verb)?;
    let why = explained(body.why)?.unwrap_or_else(|| WHY_DEFAULT.into());
    let by = signed(body.by)?;
    let done = app.site.engine.operate(Operation { step, by, why, verb, dry_run }).await?;
    Ok(Json(convert::operated_view(&done)))
}

/// None is a retry.
fn which(word: &str) -> Result<Option<Verb>, ApiError> {
    if word == "retry" {
        return Ok(None);
    }
    let known: Vec<&str> = Verb::ALL.iter().map(|v| v.word()).collect();
    let found = Verb::ALL.into_iter().find(|v| v.word() == word);
    found.map(Some).ok_or_else(|| {
        ApiError::NotFound(format!(
            "`{word}` cannot be done to a step; these can: {}, retry",
            known.join(", ")
        ))
    })
}

/// Who acts.
pub fn signed(by: Option<String>) -> Result<String, ApiError> {
    let by =
        by.map(|by| by.trim().to_string()).filter(|by| !by.is_empty()).unwrap_or_else(|| BY_DEFAULT.into());
    fits("by", &by, limits::NAME_BYTES_MAX)?;
    Ok(by)
}

/// Why, if it is said.
pub fn explained(why: Option<String>) -> Result<Option<String>, ApiError> {
    let why = why.map(|why| why.trim().to_string()).filter(|why| !why.is_empty());
    if let Some(why) = &why {
        fits("why", why, WHY_BYTES_MAX)?;
    }
    Ok(why)
}

fn fits(field: &str, text: &str, bytes_max: usize) -> Result<(), ApiError> {
    if text.len() <= bytes_max {
        return Ok(());
    }
    Err(ApiError::fault(field, format!("it has {} bytes", text.len()), format!("use at most {bytes_max}")))
}
