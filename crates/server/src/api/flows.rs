//! Tracked flows, for code that runs elsewhere: start, say what was done, finish; look; have one retried or cancelled.

use super::operate::{How, Reason, explained};
use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::convert;
use crate::describe::{MadeOrThere, Tagged};
use crate::error::ApiError;
use crate::extract::{Expected, Params, Path, Posted, ThisFlow, page_size};
use axum::Json;
use axum::extract::State;
use engine::{FlowError, FlowNow, FlowRefusal, FlowWish, Saying, flow_action};
use model::{FlowAction, FlowId, FlowState, FlowStepState, NewStep};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use store::flows::{FlowFilter, FlowShown};
use wire::{FlowBody, FlowNowView, FlowSayBody, FlowStateBody, OperateBody};

pub async fn start(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(mut body): Posted<FlowBody>,
) -> Result<MadeOrThere<FlowNowView>, ApiError> {
    let by = caller.signed(body.by.take())?;
    caller.covers_name("type", &body.kind)?;
    let start = convert::start_flow(body, by).map_err(|fault| ApiError::Invalid(vec![fault]))?;
    // What it declares is made into steps later, by whoever asks; a key with a scope declares none for other queues.
    let declared = [&start.retry, &start.cancel].into_iter().flatten();
    let steps: Vec<NewStep> = declared.map(queued).collect();
    caller.covers_steps(&steps, app.site.engine.queues())?;
    let now = app.site.engine.flows().start(start).await?;
    let view = convert::flow_now_view(&now, None);
    Ok(if now.changed { MadeOrThere::Made(view) } else { MadeOrThere::There(view) })
}

/// As far as a scope asks for it.
fn queued(action: &FlowAction) -> NewStep {
    NewStep { queue: action.queue.clone(), ..NewStep::default() }
}

/// The parameters of a list, as written.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub key: Option<String>,
    pub entity_type: Option<String>,
    pub entity_id: Option<String>,
    pub user: Option<String>,
    #[schemars(extend("enum" = ["pending", "running", "failed", "completed", "cancelled", "superseded"]))]
    pub state: Option<String>,
    pub live: bool,
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    pub limit: Option<usize>,
    pub after: Option<String>,
}

impl Wanted {
    pub fn filter(self) -> Result<FlowFilter, ApiError> {
        let state = self.state.map(|word| word.parse::<FlowState>());
        let strange = |text: String| {
            ApiError::BadRequest(format!("after: `{text}` is not a cursor; use `next` of the page before"))
        };
        Ok(FlowFilter {
            kind: self.kind,
            key: self.key,
            entity_type: self.entity_type,
            entity_id: self.entity_id,
            user: self.user,
            state: state.transpose().map_err(|e| ApiError::BadRequest(format!("state: {e}")))?,
            live: self.live,
            after: self.after.map(|text| text.parse().map_err(|_| strange(text))).transpose()?,
            limit: page_size(self.limit)?,
        })
    }
}

pub async fn list(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::FlowPage>, ApiError> {
    let filter = wanted.filter()?;
    Ok(Json(app.read(move |browse| answers::flows(browse, &filter)).await?))
}

pub fn missing(id: FlowId) -> ApiError {
    ApiError::Flow(FlowError::Refused { flow: id, why: FlowRefusal::NotThere })
}

pub async fn show(
    State(app): State<Arc<App>>,
    ThisFlow(id): ThisFlow,
) -> Result<Tagged<wire::FlowShow>, ApiError> {
    let found = app.read(move |browse| answers::flow(browse, id)).await?;
    let shown = found.ok_or_else(|| missing(id))?;
    Ok(Tagged::revision(shown.flow.revision, shown))
}

#[derive(Deserialize, JsonSchema)]
pub struct OfStep {
    step: String,
    #[schemars(extend("enum" = ["complete", "fail", "skip"]))]
    verb: String,
}

/// Say what became of a step.
pub async fn mark(
    State(app): State<Arc<App>>,
    caller: Caller,
    (ThisFlow(flow), Path(OfStep { step, verb })): (ThisFlow, Path<OfStep>),
    Posted(body): Posted<FlowSayBody>,
) -> Result<Json<FlowNowView>, ApiError> {
    let to = match verb.as_str() {
        "complete" => FlowStepState::Completed,
        "fail" => FlowStepState::Failed,
        "skip" => FlowStepState::Skipped,
        _ => {
            let problem = "is not done to a step of a flow; these are: complete, fail, skip";
            return Err(ApiError::NotFound(format!("`{verb}` {problem}")));
        }
    };
    let saying = Saying { flow, message: body.message, by: caller.signed(body.by)? };
    let now = app.site.engine.flows().mark(saying, &step, to).await?;
    Ok(Json(convert::flow_now_view(&now, None)))
}

fn state_of(word: Option<&str>, fix: &str) -> Result<Option<FlowState>, ApiError> {
    let wrong = |problem: model::UnknownWord| ApiError::fault("state", problem.to_string(), fix);
    word.map(|word| word.parse().map_err(wrong)).transpose()
}

pub async fn update(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisFlow(flow): ThisFlow,
    Posted(body): Posted<FlowStateBody>,
) -> Result<Json<FlowNowView>, ApiError> {
    let to = state_of(body.state.as_deref(), "write running, or leave it out")?;
    let saying = Saying { flow, message: body.message, by: caller.signed(body.by)? };
    let now = app.site.engine.flows().update(saying, to).await?;
    Ok(Json(convert::flow_now_view(&now, None)))
}

pub async fn finish(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisFlow(flow): ThisFlow,
    Posted(body): Posted<FlowStateBody>,
) -> Result<Json<FlowNowView>, ApiError> {
    let to = state_of(body.state.as_deref(), "write completed, failed or cancelled")?;
    let saying = Saying { flow, message: body.message, by: caller.signed(body.by)? };
    let now = app.site.engine.flows().finish(saying, to.unwrap_or(FlowState::Completed)).await?;
    Ok(Json(convert::flow_now_view(&now, None)))
}

#[derive(Deserialize, JsonSchema)]
pub struct Named {
    #[schemars(extend("enum" = ["retry", "cancel"]))]
    verb: String,
}

/// Have it retried or cancelled by what was declared for that.
pub async fn ask(
    State(app): State<Arc<App>>,
    caller: Caller,
    (ThisFlow(flow), Path(Named { verb })): (ThisFlow, Path<Named>),
    (expected, Params(How { dry_run })): (Expected, Params<How>),
    Posted(body): Posted<OperateBody>,
) -> Result<Json<FlowNowView>, ApiError> {
    let wish = match verb.as_str() {
        "retry" => FlowWish::Retry,
        "cancel" => FlowWish::Cancel,
        _ => {
            let problem = "cannot be asked of a flow; these can: retry, cancel";
            return Err(ApiError::NotFound(format!("`{verb}` {problem}")));
        }
    };
    let shown = possible(&app, &caller, flow, wish).await?;
    if expected.revision()?.is_some_and(|seen| seen != shown.flow.version) {
        let now = shown.flow.version;
        return Err(ApiError::Changed(format!("flow {flow} has changed since; it is at revision {now} now")));
    }
    let message = match wish {
        FlowWish::Retry => explained(body.why)?,
        // What was begun is left, or undone.
        FlowWish::Cancel => Some(Reason::Needed.unless(dry_run).said(body.why)?),
    };
    let saying = Saying { flow, message, by: caller.signed(body.by)? };
    if dry_run {
        let now = FlowNow { flow: shown.flow, steps: shown.steps, changed: false };
        return Ok(Json(convert::flow_now_view(&now, None)));
    }
    let asked = app.site.engine.ask_flow(saying, wish).await?;
    Ok(Json(convert::flow_now_view(&asked.now, asked.step)))
}

/// The flow as it is, if this can be asked of it. A key with a scope makes steps for its own queues alone, also those that somebody
/// else declared.
async fn possible(app: &App, caller: &Caller, flow: FlowId, wish: FlowWish) -> Result<FlowShown, ApiError> {
    let shown = app.read(move |browse| browse.flow(flow)).await?.ok_or_else(|| missing(flow))?;
    let refused = |why| ApiError::Flow(FlowError::Refused { flow, why });
    if let Some(action) = flow_action(&shown.flow, wish).map_err(refused)? {
        caller.covers_steps(&[queued(action)], app.site.engine.queues())?;
    }
    Ok(shown)
}
