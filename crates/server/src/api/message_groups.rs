//! Message groups: list, show, and what a person does to one.

use super::operate::Reason;
use crate::access::Caller;
use crate::answers::{self, GroupFilter};
use crate::app::App;
use crate::convert;
use crate::error::ApiError;
use crate::extract::{Params, Path, Posted, page_size};
use axum::Json;
use axum::extract::State;
use engine::{GroupOperation, GroupVerb};
use model::StepId;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use store::Held;

#[derive(Deserialize, Default, Clone, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    /// How the name begins.
    pub name: String,
    /// What holds it back.
    #[schemars(extend("enum" = ["", "blocked", "paused"]))]
    pub held: String,
    pub after: Option<String>,
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    pub limit: Option<usize>,
}

impl Wanted {
    pub fn filter(&self) -> Result<GroupFilter, ApiError> {
        let held = Held::ALL.into_iter().find(|held| held.word() == self.held);
        if held.is_none() && !self.held.is_empty() {
            let problem = format!("held: `{}` is not known; write `blocked` or `paused`", self.held);
            return Err(ApiError::BadRequest(problem));
        }
        let (begins, after) = (self.name.clone(), self.after.clone().filter(|after| !after.is_empty()));
        Ok(GroupFilter { begins, held, after, limit: page_size(self.limit)? })
    }
}

pub async fn list(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::MessageGroupPage>, ApiError> {
    let filter = wanted.filter()?;
    Ok(Json(app.read(move |browse| answers::message_groups(browse, &filter)).await?))
}

/// How much of a line is told; `GET /v1/steps` lists all that is in it.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Front {
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    limit: Option<usize>,
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Params(Front { limit }): Params<Front>,
) -> Result<Json<wire::MessageGroupShow>, ApiError> {
    let limit = page_size(limit)?;
    let named = name.clone();
    let found = app.read(move |browse| answers::message_group(browse, &named, limit)).await?;
    let idle =
        || ApiError::NotFound(format!("message group `{name}` has nothing to do and is not held back"));
    Ok(Json(found.ok_or_else(idle)?))
}

#[derive(Deserialize, JsonSchema)]
pub struct Named {
    name: String,
    #[schemars(extend("enum" = verbs()))]
    verb: String,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct How {
    dry_run: bool,
    /// The step that is meant by `skip-head`: refused if another is the head by now.
    #[schemars(extend("format" = "uuid"))]
    head: Option<String>,
}

pub async fn operate(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(Named { name, verb }): Path<Named>,
    Params(How { dry_run, head }): Params<How>,
    Posted(body): Posted<wire::OperateBody>,
) -> Result<Json<wire::GroupOperatedView>, ApiError> {
    let verb = which(&verb)?;
    let reason = match verb {
        GroupVerb::Cancel | GroupVerb::SkipHead | GroupVerb::Ignore => Reason::Needed,
        GroupVerb::Pause | GroupVerb::Resume | GroupVerb::Requeue | GroupVerb::Unblock => Reason::Welcome,
    };
    let why = reason.unless(dry_run).said(body.why)?;
    let by = caller.signed(body.by)?;
    let message_group = name.as_str().into();
    let head = head.map(|id| meant(verb, &id)).transpose()?;
    let operation = GroupOperation { message_group, verb, head, by, why, dry_run };
    let done = app.site.engine.operate_group(operation).await?;
    Ok(Json(convert::group_operated_view(&name, verb, &done)))
}

fn meant(verb: GroupVerb, head: &str) -> Result<StepId, ApiError> {
    if verb != GroupVerb::SkipHead {
        return Err(ApiError::BadRequest("`head` is for `skip-head` alone; leave it out".into()));
    }
    head.parse().map_err(|_| ApiError::BadRequest(format!("head: `{head}` is not the id of a step")))
}

fn verbs() -> Vec<&'static str> {
    GroupVerb::ALL.iter().map(|verb| verb.word()).collect()
}

fn which(word: &str) -> Result<GroupVerb, ApiError> {
    GroupVerb::ALL.into_iter().find(|verb| verb.word() == word).ok_or_else(|| {
        let known = verbs().join(", ");
        ApiError::NotFound(format!("`{word}` cannot be done to a message group; these can: {known}"))
    })
}
