//! Workflows: start, list, show, and what a person does to one.

use super::operate::{How, Reason};
use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::bulk;
use crate::convert;
use crate::describe::{MadeOrTried, Tagged};
use crate::drawing::{self, Picture};
use crate::error::ApiError;
use crate::extract::{Expected, Params, Path, Posted, ThisWorkflow, Traced};
use axum::Json;
use axum::extract::State;
use engine::{EngineError, Forced, StartWorkflow, WorkflowOperation, WorkflowVerb};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use store::Browse;

pub use super::workflow_filter::Wanted;

pub async fn start(
    State(app): State<Arc<App>>,
    caller: Caller,
    Traced(trace): Traced,
    Params(How { dry_run }): Params<How>,
    Posted(body): Posted<wire::StartBody>,
) -> Result<MadeOrTried<wire::StartedView, wire::WouldStartView>, ApiError> {
    if body.workflow.is_empty() {
        let fix = "write the name of a definition; `GET /v1/definitions` lists them";
        return Err(ApiError::fault("workflow", "it is not said which one", fix));
    }
    if body.workflow == bulk::WORKFLOW {
        return Err(ApiError::Forbidden("this one is started by `POST /v1/bulk` alone".into()));
    }
    let version = covered(&app, &caller, &body).await?;
    let start = StartWorkflow {
        workflow: body.workflow,
        version,
        input: body.input,
        labels: body.labels,
        trace,
        by: caller.signature(),
    };
    if dry_run {
        return would_start(&app, start).await.map(MadeOrTried::Tried);
    }
    let started = app.site.engine.start_workflow(start).await?;
    Ok(MadeOrTried::Made(convert::started_view(&started)))
}

/// The definition is there, and takes this input.
async fn would_start(app: &App, start: StartWorkflow) -> Result<wire::WouldStartView, ApiError> {
    let (workflow, version) = (start.workflow.clone(), start.version.clone());
    let found = app.read(move |browse| answers::definition(browse, &workflow, version.as_deref())).await?;
    let (about, definition) = found.ok_or_else(|| EngineError::NoDefinition(start.workflow.clone()))?;
    let pinned = answers::stored(&definition).pinned;
    let faults = engine::start_faults(definition, Arc::new(pinned), &start);
    if !faults.is_empty() {
        return Err(ApiError::Invalid(faults));
    }
    let wire::DefinitionView { workflow, version, .. } = about;
    Ok(wire::WouldStartView { workflow, version, dry_run: true })
}

/// The version to start. For a key with a scope it is the very one that was looked at, and one that runs elsewhere is not there.
async fn covered(app: &App, caller: &Caller, body: &wire::StartBody) -> Result<Option<String>, ApiError> {
    let Some(scope) = caller.scope(app) else { return Ok(body.version.clone()) };
    let (workflow, version) = (body.workflow.clone(), body.version.clone());
    let found = app.read(move |browse| answers::definition(browse, &workflow, version.as_deref())).await?;
    let missing = || ApiError::Engine(EngineError::NoDefinition(body.workflow.clone()));
    let found = found.filter(|(_, definition)| scope.definition(definition));
    let (about, _) = found.ok_or_else(missing)?;
    Ok(Some(about.version))
}

pub async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    wanted: Wanted,
) -> Result<Json<wire::WorkflowPage>, ApiError> {
    let (filter, scope) = (wanted.filter()?, caller.scope(&app));
    let read = move |browse: &Browse| match scope {
        // Not all that are looked through are shown, so it ends somewhere.
        Some(scope) => answers::workflows_within(browse, &filter, Some(&scope)),
        None => answers::workflows(browse, &filter),
    };
    Ok(Json(app.read(read).await?))
}

pub async fn show(
    State(app): State<Arc<App>>,
    ThisWorkflow(id): ThisWorkflow,
) -> Result<Tagged<wire::WorkflowShow>, ApiError> {
    let shown = app.workflow(id).await?;
    Ok(Tagged::revision(shown.workflow.revision, shown))
}

pub async fn graph(State(app): State<Arc<App>>, ThisWorkflow(id): ThisWorkflow) -> Result<Picture, ApiError> {
    let (shown, row) = (app.workflow(id).await?, app.workflow_row(id).await?);
    let drawing = app.drawing(&row.definition).await?;
    Ok(drawing::workflow(&drawing, &shown))
}

#[derive(Deserialize, JsonSchema)]
pub struct Named {
    #[schemars(extend("enum" = verbs()))]
    verb: String,
}

pub async fn operate(
    State(app): State<Arc<App>>,
    caller: Caller,
    (ThisWorkflow(workflow), Path(Named { verb })): (ThisWorkflow, Path<Named>),
    (expected, Params(How { dry_run })): (Expected, Params<How>),
    Posted(body): Posted<wire::WorkflowOperateBody>,
) -> Result<Json<wire::WorkflowOperatedView>, ApiError> {
    let verb = which(&verb)?;
    let dry_run = dry_run || body.dry_run;
    let why = reason(&verb).unless(dry_run).said(body.why)?;
    let (by, expected) = (caller.signed(body.by)?, expected.revision()?);
    let force = forced(body.force, body.payload)?;
    let operation = WorkflowOperation { workflow, verb, by, why, dry_run, expected, force };
    let done = app.site.engine.operate_workflow(operation).await?;
    Ok(Json(convert::workflow_operated_view(&done, dry_run)))
}

/// What is sent in place of a trigger, by somebody who says that they mean it.
fn forced(force: bool, payload: Option<serde_json::Value>) -> Result<Option<Forced>, ApiError> {
    let payload = payload.map(|payload| payload.to_string());
    match (force, payload) {
        (true, payload) => Ok(Some(Forced { payload })),
        (false, None) => Ok(None),
        (false, Some(_)) => Err(ApiError::fault(
            "payload",
            "nothing is forced",
            "write `force: true`, or send it to the trigger",
        )),
    }
}

/// What a person decides about one that failed, and what that means.
pub async fn resolve(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisWorkflow(workflow): ThisWorkflow,
    (expected, Params(How { dry_run })): (Expected, Params<How>),
    Posted(body): Posted<wire::ResolveBody>,
) -> Result<Json<wire::WorkflowOperatedView>, ApiError> {
    let decision =
        convert::decision(&body).map_err(|fault| ApiError::fault(&fault.field, fault.problem, fault.fix))?;
    let (verb, dry_run) = (WorkflowVerb::Resolve(decision), dry_run || body.dry_run);
    let why = reason(&verb).unless(dry_run).said(body.why)?;
    let (by, expected) = (caller.signed(body.by)?, expected.revision()?);
    let operation = WorkflowOperation { workflow, verb, by, why, dry_run, expected, force: None };
    let done = app.site.engine.operate_workflow(operation).await?;
    Ok(Json(convert::workflow_operated_view(&done, dry_run)))
}

fn reason(verb: &WorkflowVerb) -> Reason {
    if verb.needs_reason() { Reason::Needed } else { Reason::Welcome }
}

fn verbs() -> Vec<&'static str> {
    WorkflowVerb::plain().iter().map(WorkflowVerb::word).collect()
}

fn which(word: &str) -> Result<WorkflowVerb, ApiError> {
    WorkflowVerb::plain().into_iter().find(|verb| verb.word() == word).ok_or_else(|| {
        let known = verbs().join(", ");
        ApiError::NotFound(format!("`{word}` cannot be done to a workflow; these can: {known}"))
    })
}
