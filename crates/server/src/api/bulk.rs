//! Bulk operations: preview one, run it, list and show them, and cancel.

use super::operate::Reason;
use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::bulk::{self, BulkOrder, What};
use crate::convert::instant;
use crate::describe::{MadeOrThere, Tagged};
use crate::error::ApiError;
use crate::extract::{Params, Posted, ThisWorkflow, page_size};
use crate::pages::{Wanted, cut, place};
use axum::Json;
use axum::extract::State;
use engine::{StartWorkflow, WorkflowOperation, WorkflowVerb};
use model::{Fault, Workflow, WorkflowId, limits};
use serde_json::value::to_raw_value;
use std::sync::Arc;
use store::{Browse, StepRow, WorkflowFilter};
use wire::{BulkAnswer, BulkBody, BulkPage, BulkProgress, BulkView, OperateBody};

pub async fn create(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(mut body): Posted<BulkBody>,
) -> Result<MadeOrThere<BulkAnswer>, ApiError> {
    let (by, dry_run, confirm) = (caller.signed(body.by.take())?, body.dry_run, body.confirm);
    let invalid = |fault| ApiError::Invalid(vec![fault]);
    let order = BulkOrder::of(body, by.clone(), caller.queues()).map_err(invalid)?;
    covered(&app, &caller, &order).await?;
    let preview = bulk::preview(&app.bulk, &order).await?;
    let order = BulkOrder { matched: preview.matched, more: preview.more, ..order };
    if dry_run {
        return Ok(MadeOrThere::There(BulkAnswer::Preview(preview)));
    }
    order.confirmed(confirm).map_err(invalid)?;
    let unwritten = |problem: serde_json::Error| ApiError::NotReady(problem.to_string());
    let input = Some(to_raw_value(&order).map_err(unwritten)?);
    let definition = definition::read(bulk::DEFINITION.as_bytes(), bulk::WORKFLOW);
    let definition = definition.map_err(ApiError::Definition)?.definition;
    let version = Some(definition.version.clone());
    app.site.engine.apply_definition(answers::stored(&definition), "stepfast".into()).await?;
    let start =
        StartWorkflow { workflow: bulk::WORKFLOW.into(), version, input, by: Some(by), ..Default::default() };
    let started = app.site.engine.start_workflow(start).await?;
    Ok(MadeOrThere::Made(BulkAnswer::Running(Box::new(found(&app, &caller, started.id).await?))))
}

/// A key with a scope means workflows of one definition, all of whose versions run in its queues: those that are there were made by
/// one of them, and those that come later are not meant.
async fn covered(app: &App, caller: &Caller, order: &BulkOrder) -> Result<(), ApiError> {
    let Some(scope) = caller.scope(app).filter(|_| order.what == What::Workflows) else { return Ok(()) };
    let (workflow, version) = (order.filter.workflow.clone(), order.filter.version.clone());
    let read = move |browse: &Browse| match workflow {
        Some(workflow) => scope.versions(browse, &workflow, version.as_deref()),
        None => Ok(false),
    };
    if app.read(read).await? {
        return Ok(());
    }
    let problem = "it is not one definition that runs in the queues of this key alone";
    let fix = "name one, and its version if others run elsewhere; or use a key without a scope";
    let field = "filter.workflow".into();
    Err(ApiError::OutOfScope(vec![Fault { field, problem: problem.into(), fix: fix.into() }]))
}

/// A key with a scope sees what was asked for with one that goes no further.
fn is_shown(caller: &Caller, workflow: &Workflow) -> bool {
    let order: Option<BulkOrder> = serde_json::from_str(&workflow.input).ok();
    let is_ours = |order: BulkOrder| !order.scope.is_empty() && caller.covers_all(&order.scope);
    !caller.has_scope() || order.is_some_and(is_ours)
}

async fn found(app: &App, caller: &Caller, id: WorkflowId) -> Result<BulkView, ApiError> {
    let caller = caller.clone();
    let read = move |browse: &Browse| {
        let workflow = browse.workflow(id)?.filter(|workflow| &*workflow.definition.key == bulk::WORKFLOW);
        let workflow = workflow.filter(|workflow| is_shown(&caller, workflow));
        let step = browse.workflow_steps(id)?.into_iter().next_back();
        workflow.map(|workflow| view(browse, &workflow, step)).transpose()
    };
    let found = app.read(read).await?;
    found.ok_or_else(|| ApiError::NotFound(format!("there is no bulk operation {id}")))
}

/// How far it is stands in what its last poll said, and at its end in its answer.
fn view(browse: &Browse, workflow: &Workflow, step: Option<StepRow>) -> store::Result<BulkView> {
    let order: Option<BulkOrder> = serde_json::from_str(&workflow.input).ok();
    let answer = step.as_ref().and_then(|row| row.detail.response.clone());
    let said = match (&answer, &step) {
        (None, Some(row)) => browse.polls(row.step.id)?.pop().and_then(|poll| poll.data),
        _ => answer,
    };
    let progress: Option<BulkProgress> = said.and_then(|text| serde_json::from_str(&text).ok());
    let what = order.as_ref().and_then(|order| serde_json::to_value(order.what).ok());
    Ok(BulkView {
        id: workflow.id.to_string(),
        state: workflow.state.to_string(),
        what: what.and_then(|what| what.as_str().map(Into::into)).unwrap_or_default(),
        verb: order.as_ref().map(BulkOrder::word).unwrap_or_default(),
        why: order.as_ref().map(|order| order.why.clone()).unwrap_or_default(),
        by: order.as_ref().map(|order| order.by.clone()).unwrap_or_default(),
        matched: order.as_ref().map_or(0, |order| order.matched),
        more: order.as_ref().is_some_and(|order| order.more),
        progress: progress.unwrap_or_default(),
        created_at: instant(workflow.created_at),
        completed_at: workflow.completed_at.map(instant),
        revision: workflow.version,
    })
}

pub async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Result<Json<BulkPage>, ApiError> {
    // One row more tells whether there is another page.
    let limit = page_size(wanted.limit)?.min(limits::PAGE_ROWS_MAX - 1);
    let after = place(wanted.after.as_deref())?;
    let read = move |browse: &Browse| {
        let definition = Some(bulk::WORKFLOW.into());
        let filter = WorkflowFilter { definition, after, limit: limit + 1, ..WorkflowFilter::default() };
        let mut rows = browse.workflows(&filter)?;
        let next = cut(&mut rows, limit, |row| row.id.to_string());
        rows.retain(|row| is_shown(&caller, row));
        let of = |row: &Workflow| view(browse, row, browse.workflow_steps(row.id)?.into_iter().next_back());
        Ok(BulkPage { bulk: rows.iter().map(of).collect::<store::Result<_>>()?, next })
    };
    app.read(read).await.map(Json)
}

pub async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisWorkflow(id): ThisWorkflow,
) -> Result<Tagged<BulkView>, ApiError> {
    let view = found(&app, &caller, id).await?;
    Ok(Tagged::revision(view.revision, view))
}

/// What was done stays done.
pub async fn cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisWorkflow(workflow): ThisWorkflow,
    Posted(body): Posted<OperateBody>,
) -> Result<Json<BulkView>, ApiError> {
    found(&app, &caller, workflow).await?;
    let why = Reason::Welcome.said(body.why)?;
    let (by, verb) = (caller.signed(body.by)?, WorkflowVerb::Cancel);
    let operation =
        WorkflowOperation { workflow, verb, by, why, dry_run: false, expected: None, force: None };
    app.site.engine.operate_workflow(operation).await?;
    found(&app, &caller, workflow).await.map(Json)
}
