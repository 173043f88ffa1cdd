//! What a person does to one step: complete, fail, stop, skip, cancel, retry.

use crate::access::Caller;
use crate::app::App;
use crate::convert;
use crate::error::ApiError;
use crate::extract::{Expected, Params, Path, Posted, ThisStep};
use axum::Json;
use axum::extract::State;
use engine::{Operation, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

const WHY_DEFAULT: &str = "by hand";
/// Bytes of an explanation.
const WHY_BYTES_MAX: usize = 4_096;

#[derive(Deserialize, JsonSchema)]
pub struct Named {
    #[schemars(extend("enum" = verbs()))]
    verb: String,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct How {
    pub dry_run: bool,
}

pub async fn operate(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisStep(step): ThisStep,
    Path(Named { verb }): Path<Named>,
    (expected, Params(How { dry_run })): (Expected, Params<How>),
    Posted(body): Posted<wire::OperateBody>,
) -> Result<Json<wire::OperatedView>, ApiError> {
    let verb = which(&verb)?;
    // Everything but a retry ends it.
    let reason = if verb.is_some() { Reason::Needed } else { Reason::Welcome };
    let by = caller.signed(body.by)?;
    let why = reason.unless(dry_run).said(body.why)?;
    let operation = Operation { step, by, why, verb, dry_run, expected: expected.step()? };
    let done = app.site.engine.operate(operation).await?;
    Ok(Json(convert::operated_view(&done)))
}

fn verbs() -> Vec<&'static str> {
    Verb::ALL.iter().map(|verb| verb.word()).chain(["retry"]).collect()
}

/// None is a retry.
fn which(word: &str) -> Result<Option<Verb>, ApiError> {
    if word == "retry" {
        return Ok(None);
    }
    let found = Verb::ALL.into_iter().find(|v| v.word() == word);
    found.map(Some).ok_or_else(|| {
        let known = verbs().join(", ");
        ApiError::NotFound(format!("`{word}` cannot be done to a step; these can: {known}"))
    })
}

/// Whether somebody has to say why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Work is thrown away or undone: whoever looks later is to know why.
    Needed,
    Welcome,
}

impl Reason {
    /// What is only tried needs none.
    pub fn unless(self, dry_run: bool) -> Reason {
        if dry_run { Reason::Welcome } else { self }
    }

    pub fn said(self, why: Option<String>) -> Result<String, ApiError> {
        match (explained(why)?, self) {
            (Some(why), _) => Ok(why),
            (None, Reason::Welcome) => Ok(WHY_DEFAULT.into()),
            (None, Reason::Needed) => {
                Err(ApiError::fault("why", "it is not said", "say why; it goes on record with what is done"))
            }
        }
    }
}

/// Why, if it is said.
pub fn explained(why: Option<String>) -> Result<Option<String>, ApiError> {
    let why = why.map(|why| why.trim().to_string()).filter(|why| !why.is_empty());
    match &why {
        Some(long) if long.len() > WHY_BYTES_MAX => {
            let problem = format!("it has {} bytes", long.len());
            Err(ApiError::fault("why", problem, format!("use at most {WHY_BYTES_MAX}")))
        }
        _ => Ok(why),
    }
}
