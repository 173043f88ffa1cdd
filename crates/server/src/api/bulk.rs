//! Bulk operations: preview one, run it, list and show them, and cancel.

use super::operate::Reason;
use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::bulk::{self, BulkOrder, What};
use crate::describe::{MadeOrThere, Tagged};
use crate::error::ApiError;
use crate::extract::{Expected, Params, Posted, ThisWorkflow, page_size};
use crate::pages::{Wanted, joined, place};
use axum::Json;
use axum::extract::State;
use engine::{StartWorkflow, WorkflowOperation, WorkflowVerb};
use model::{Fault, WorkflowId, limits};
use serde_json::value::to_raw_value;
use std::sync::Arc;
use store::Browse;
use wire::{BulkAnswer, BulkBody, BulkPage, BulkView, OperateBody};

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

async fn found(app: &App, caller: &Caller, id: WorkflowId) -> Result<BulkView, ApiError> {
    let caller = caller.clone();
    let found = app.read(move |browse| answers::bulk_operation(browse, &caller, id)).await?;
    found.map(|record| record.view).ok_or_else(|| missing(id))
}

pub fn missing(id: WorkflowId) -> ApiError {
    ApiError::NotFound(format!("there is no bulk operation {id}"))
}

pub async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Result<Json<BulkPage>, ApiError> {
    let (limit, after) = (page_size(wanted.limit)?, place(wanted.after.as_deref())?);
    let read = move |browse: &Browse| {
        // Of the rows that may be read at once, one is for whether there are more.
        joined(after, (limit, limits::PAGE_ROWS_MAX - 1), |after, limit| {
            let page = answers::bulk_operations(browse, &caller, after, limit)?;
            Ok((page.bulk, page.next))
        })
    };
    let (bulk, next) = app.read(read).await?;
    Ok(Json(BulkPage { bulk, next }))
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
    expected: Expected,
    Posted(body): Posted<OperateBody>,
) -> Result<Json<BulkView>, ApiError> {
    found(&app, &caller, workflow).await?;
    let why = Reason::Welcome.said(body.why)?;
    let (by, verb, expected) = (caller.signed(body.by)?, WorkflowVerb::Cancel, expected.revision()?);
    let operation = WorkflowOperation { workflow, verb, by, why, dry_run: false, expected, force: None };
    app.site.engine.operate_workflow(operation).await?;
    found(&app, &caller, workflow).await.map(Json)
}
