//! Steps: create, list, show, and what their attempts came to.

use super::operate::How;
use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::attempts::{page, read_cursor};
use crate::convert;
use crate::describe::{MadeOrTried, Tagged};
use crate::error::ApiError;
use crate::extract::{Params, Posted, ThisStep, Traced, page_size};
use axum::Json;
use axum::extract::State;
use engine::EngineError;
use model::{NewStep, Status};
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;
use store::{Browse, Filter};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSteps {
    #[schemars(with = "Vec<wire::NewStepBody>")]
    steps: Vec<NewStep>,
}

pub async fn create(
    State(app): State<Arc<App>>,
    caller: Caller,
    Traced(trace): Traced,
    Params(How { dry_run }): Params<How>,
    Posted(mut body): Posted<CreateSteps>,
) -> Result<MadeOrTried<wire::CreatedPage, wire::WouldCreateView>, ApiError> {
    if let Some(trace) = trace.map(|trace| trace.to_string()) {
        let none = body.steps.iter_mut().filter(|step| step.trace.is_none() && step.parent_step_id.is_none());
        none.for_each(|step| step.trace = Some(trace.clone()));
    }
    let engine = &app.site.engine;
    caller.covers_steps(&body.steps, engine.queues())?;
    if let Some(scope) = caller.scope(&app) {
        let steps = body.steps;
        let read = move |browse: &Browse| Ok((scope.joined(browse, &steps, "steps")?, steps));
        let (faults, steps) = app.read(read).await?;
        if !faults.is_empty() {
            return Err(ApiError::OutOfScope(faults));
        }
        body.steps = steps;
    }
    if dry_run {
        return Ok(MadeOrTried::Tried(would_create(&app, body.steps).await?));
    }
    let created = match caller.signature() {
        Some(by) => engine.create_by(body.steps, by).await?,
        None => engine.create(body.steps).await?,
    };
    let steps = created.iter().map(convert::created_view).collect();
    Ok(MadeOrTried::Made(wire::CreatedPage { steps }))
}

async fn would_create(app: &App, steps: Vec<NewStep>) -> Result<wire::WouldCreateView, ApiError> {
    let (queues, now) = (app.site.engine.queues().to_vec(), app.now());
    let read = move |browse: &Browse| {
        let groups: Vec<_> = browse.groups()?.into_iter().map(|group| group.dispatch_group).collect();
        engine::would_create(browse, &steps, (&groups, &queues), now)
    };
    let steps = app.read(read).await?.map_err(ApiError::Invalid)? as u64;
    Ok(wire::WouldCreateView { steps, dry_run: true })
}

/// The parameters of a list, as written.
#[derive(Clone, Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    pub state: Option<String>,
    pub status: Option<String>,
    pub action: Option<String>,
    pub queue: Option<String>,
    pub dispatch_group: Option<String>,
    pub step_key: Option<String>,
    pub relatable_type: Option<String>,
    pub relatable_id: Option<String>,
    pub block_id: Option<String>,
    pub workflow_id: Option<String>,
    pub message_group: Option<String>,
    pub pool: Option<String>,
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    pub limit: Option<usize>,
    /// The id of the last step of the page before.
    pub after: Option<String>,
    /// The oldest first; `after` then leads to newer ones.
    pub ascending: bool,
}

impl Wanted {
    /// The parameters that were given.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("state", self.state.clone()),
            ("status", self.status.clone()),
            ("action", self.action.clone()),
            ("queue", self.queue.clone()),
            ("dispatch_group", self.dispatch_group.clone()),
            ("step_key", self.step_key.clone()),
            ("relatable_type", self.relatable_type.clone()),
            ("relatable_id", self.relatable_id.clone()),
            ("block_id", self.block_id.clone()),
            ("workflow_id", self.workflow_id.clone()),
            ("message_group", self.message_group.clone()),
            ("pool", self.pool.clone()),
            ("limit", self.limit.map(|n| n.to_string())),
            ("after", self.after.clone()),
            ("ascending", self.ascending.then(|| "true".into())),
        ];
        all.into_iter().filter_map(|(name, value)| value.map(|v| (name, v))).collect()
    }

    pub fn filter(self) -> Result<Filter, ApiError> {
        Ok(Filter {
            states: words(&self.state).map(|word| read("state", word)).collect::<Result<_, _>>()?,
            statuses: words(&self.status).map(status).collect::<Result<_, _>>()?,
            action: self.action,
            queue: self.queue,
            queues: Vec::new(),
            dispatch_group: self.dispatch_group,
            step_key: self.step_key,
            relatable_type: self.relatable_type,
            relatable_id: self.relatable_id,
            block: self.block_id.map(|text| read("block_id", &text)).transpose()?,
            workflow: self.workflow_id.map(|text| read("workflow_id", &text)).transpose()?,
            message_group: self.message_group,
            pool: self.pool,
            after: self.after.map(|text| read("after", &text)).transpose()?,
            ascending: self.ascending,
            limit: page_size(self.limit)?,
        })
    }
}

fn words(listed: &Option<String>) -> impl Iterator<Item = &str> {
    listed.as_deref().unwrap_or_default().split(',').filter(|word| !word.is_empty())
}

fn status(word: &str) -> Result<Status, ApiError> {
    Status::read(word).map_err(|problem| ApiError::BadRequest(format!("status: {problem}")))
}

fn read<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, ApiError> {
    text.parse()
        .map_err(|problem| ApiError::BadRequest(format!("{name}: `{text}` is not understood: {problem}")))
}

pub async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::StepPage>, ApiError> {
    let filter = Filter { queues: caller.queues(), ..wanted.filter()? };
    Ok(Json(app.read(move |browse| answers::steps(browse, &filter)).await?))
}

pub async fn show(
    State(app): State<Arc<App>>,
    ThisStep(id): ThisStep,
) -> Result<Tagged<wire::StepShow>, ApiError> {
    let shown = app.show(id).await?;
    let tag = format!("{}-{}", shown.step.version, shown.step.attempt);
    Ok(Tagged { tag, view: shown })
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WantedAttempts {
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    limit: Option<usize>,
    after: Option<String>,
}

pub async fn attempts(
    State(app): State<Arc<App>>,
    ThisStep(id): ThisStep,
    Params(wanted): Params<WantedAttempts>,
) -> Result<Json<wire::AttemptPage>, ApiError> {
    let limit = page_size(wanted.limit)?;
    let strange =
        |text: &str| ApiError::BadRequest(format!("after: `{text}` is not the `next` of a page before"));
    let after = wanted.after.map(|text| read_cursor(&text).ok_or_else(|| strange(&text))).transpose()?;
    let found = app.read(move |browse| page(browse, id, after.as_ref(), limit)).await?;
    found.map(Json).ok_or(ApiError::Engine(EngineError::NoStep(id)))
}
