//! Bulk operations as they are on record: what was asked for, and how far it is.

use crate::access::Caller;
use crate::bulk::{BulkOrder, WORKFLOW};
use crate::convert::instant;
use crate::pages::cut;
use model::{Workflow, WorkflowId};
use store::{Browse, Listed, Result, StepRow, WorkflowFilter};
use wire::{BulkPage, BulkProgress, BulkView};

/// One, with the order that it carries out.
pub struct BulkRecord {
    pub view: BulkView,
    /// None where what is on record is no order.
    pub order: Option<BulkOrder>,
}

/// Newest first, behind one; those that this caller may see.
pub fn bulk_operations(
    browse: &Browse,
    caller: &Caller,
    after: Option<WorkflowId>,
    limit: usize,
) -> Result<BulkPage> {
    down_to(browse, caller, (after, None), limit)
}

/// The same for a page, which looks through so much history and no more.
pub fn bulk_operations_within(
    browse: &Browse,
    caller: &Caller,
    after: Option<WorkflowId>,
    limit: usize,
) -> Result<BulkPage> {
    let oldest = browse.reach(Listed::Workflows, after.map(|id| *id.bytes()))?.map(WorkflowId::from_bytes);
    let page = down_to(browse, caller, (after, oldest), limit)?;
    Ok(BulkPage { next: page.next.or(oldest.map(|id| id.to_string())), ..page })
}

fn down_to(
    browse: &Browse,
    caller: &Caller,
    (after, oldest): (Option<WorkflowId>, Option<WorkflowId>),
    limit: usize,
) -> Result<BulkPage> {
    let definition = Some(WORKFLOW.into());
    // One row more tells whether there is another page.
    let filter = WorkflowFilter { definition, after, limit: limit + 1, ..WorkflowFilter::default() };
    let mut rows = browse.workflows_down_to(&filter, oldest)?;
    let next = cut(&mut rows, limit, |row| row.id.to_string());
    rows.retain(|row| is_shown(caller, row));
    let of = |row: &Workflow| Ok(record(browse, row)?.view);
    Ok(BulkPage { bulk: rows.iter().map(of).collect::<Result<_>>()?, next })
}

/// None where there is none, or none that this caller may see.
pub fn bulk_operation(browse: &Browse, caller: &Caller, id: WorkflowId) -> Result<Option<BulkRecord>> {
    let workflow = browse.workflow(id)?.filter(|workflow| &*workflow.definition.key == WORKFLOW);
    let workflow = workflow.filter(|workflow| is_shown(caller, workflow));
    workflow.map(|workflow| record(browse, &workflow)).transpose()
}

fn order(workflow: &Workflow) -> Option<BulkOrder> {
    serde_json::from_str(&workflow.input).ok()
}

/// A key with a scope sees what was asked for with one that goes no further.
fn is_shown(caller: &Caller, workflow: &Workflow) -> bool {
    let is_ours = |order: BulkOrder| !order.scope.is_empty() && caller.covers_all(&order.scope);
    !caller.has_scope() || order(workflow).is_some_and(is_ours)
}

fn record(browse: &Browse, workflow: &Workflow) -> Result<BulkRecord> {
    let step = browse.workflow_steps(workflow.id)?.into_iter().next_back();
    let progress = progress(browse, step)?;
    let order = order(workflow);
    let what = order.as_ref().and_then(|order| serde_json::to_value(order.what).ok());
    let view = BulkView {
        id: workflow.id.to_string(),
        state: workflow.state.to_string(),
        what: what.and_then(|what| what.as_str().map(Into::into)).unwrap_or_default(),
        verb: order.as_ref().map(BulkOrder::word).unwrap_or_default(),
        why: order.as_ref().map(|order| order.why.clone()).unwrap_or_default(),
        by: order.as_ref().map(|order| order.by.clone()).unwrap_or_default(),
        matched: order.as_ref().map_or(0, |order| order.matched),
        more: order.as_ref().is_some_and(|order| order.more),
        progress,
        created_at: instant(workflow.created_at),
        completed_at: workflow.completed_at.map(instant),
        revision: workflow.version,
    };
    Ok(BulkRecord { view, order })
}

/// How far it is stands in what its last poll said, and at its end in its answer.
fn progress(browse: &Browse, step: Option<StepRow>) -> Result<BulkProgress> {
    let answer = step.as_ref().and_then(|row| row.detail.response.clone());
    let said = match (&answer, &step) {
        (None, Some(row)) => browse.polls(row.step.id)?.pop().and_then(|poll| poll.data),
        _ => answer,
    };
    Ok(said.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}
