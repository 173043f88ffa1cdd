//! The course of a workflow for people: what happened to it, what was decided on its way, and the items of its fan-outs.

use super::workflows::{kind, runs};
use super::{PAGE_BYTES_MAX, Parents, ROWS_AT_ONCE, weight};
use crate::convert;
use crate::pages::cut;
use crate::secrets::{Known, Secrets};
use model::{WorkflowId, limits};
use store::{Browse, DecisionPlace, Result};

/// What happened to a workflow, oldest first, behind a number.
pub fn events(
    browse: &Browse,
    id: WorkflowId,
    after: u64,
    limit: usize,
) -> Result<Option<wire::WorkflowEventPage>> {
    let Some(workflow) = browse.workflow(id)? else { return Ok(None) };
    let secrets = Known::default().secrets(browse, &workflow)?;
    let lines = browse.workflow_events(id, after, limit)?;
    // A full page may be the last one: then the next is empty.
    let next = lines.last().filter(|_| lines.len() >= limit).map(|line| line.number.to_string());
    Ok(Some(wire::WorkflowEventPage { events: shown_events(&lines, &secrets), next }))
}

/// The same, newest first, before a number; `next` is the number that older ones stand before.
pub fn events_before(
    browse: &Browse,
    id: WorkflowId,
    before: Option<u64>,
    limit: usize,
) -> Result<Option<wire::WorkflowEventPage>> {
    let Some(workflow) = browse.workflow(id)? else { return Ok(None) };
    let secrets = Known::default().secrets(browse, &workflow)?;
    // One row more than wanted tells whether there is a next page.
    let mut lines = browse.workflow_events_before(id, before, limit + 1)?;
    let next = cut(&mut lines, limit, |line| line.number.to_string());
    Ok(Some(wire::WorkflowEventPage { events: shown_events(&lines, &secrets), next }))
}

fn shown_events(lines: &[store::EventLine], secrets: &Secrets) -> Vec<wire::WorkflowEventView> {
    let shown = |line: &store::EventLine| {
        let view = convert::workflow_event_view(line);
        wire::WorkflowEventView { data: view.data.map(|data| secrets.hide(data)), ..view }
    };
    lines.iter().map(shown).collect()
}

/// The first that was decided on its way.
pub fn decisions(browse: &Browse, id: WorkflowId) -> Result<Option<wire::DecisionPage>> {
    decisions_behind(browse, id, None, limits::PAGE_ROWS_MAX)
}

/// What was decided on its way, oldest first, behind a place.
pub fn decisions_behind(
    browse: &Browse,
    id: WorkflowId,
    after: Option<&DecisionPlace>,
    limit: usize,
) -> Result<Option<wire::DecisionPage>> {
    let Some(workflow) = browse.workflow(id)? else { return Ok(None) };
    let secrets = Known::default().secrets(browse, &workflow)?;
    let shown = |decision: &model::BranchDecision| {
        let view = convert::decision_view(decision);
        wire::DecisionView { inputs: secrets.hide(view.inputs), result: secrets.hide(view.result), ..view }
    };
    let mut rows = browse.branch_decisions_behind(id, after, limit + 1)?;
    let next = cut(&mut rows, limit, |row| format!("{} {} {}", row.at.0, row.kind, row.step_key));
    Ok(Some(wire::DecisionPage { decisions: rows.iter().map(shown).collect(), next }))
}

/// Why there are no items to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoItems {
    NoWorkflow,
    NoStep,
    NotAFanOut,
}

/// Items of the last run of a fan-out, in their order, behind one.
pub fn items(
    browse: &Browse,
    (id, key): (WorkflowId, &str),
    after: Option<u32>,
    limit: usize,
) -> Result<std::result::Result<wire::ItemPage, NoItems>> {
    let Some(workflow) = browse.workflow(id)? else { return Ok(Err(NoItems::NoWorkflow)) };
    let mut known = Known::default();
    let (secrets, definition) =
        (known.secrets(browse, &workflow)?, known.definition(browse, &workflow.definition)?);
    let Some(n) = definition.steps.iter().position(|step| step.key == key) else {
        return Ok(Err(NoItems::NoStep));
    };
    if kind(&definition.steps[n]).0 != "fan_out" {
        return Ok(Err(NoItems::NotAFanOut));
    }
    let rows = runs(browse.workflow_steps(id)?).remove(&(n as u32)).unwrap_or_default();
    match rows.last().and_then(|row| row.step.child_block) {
        None => Ok(Ok(wire::ItemPage { items: Vec::new(), next: None })),
        Some(block) => page(browse, &secrets, (block, after), limit).map(Ok),
    }
}

fn page(
    browse: &Browse,
    secrets: &Secrets,
    (block, mut after): (model::BlockId, Option<u32>),
    limit: usize,
) -> Result<wire::ItemPage> {
    let (mut items, mut bytes, mut parents) = (Vec::new(), 0, Parents::default());
    loop {
        let wanted = (limit + 1 - items.len()).min(ROWS_AT_ONCE);
        let rows = browse.items(block, after, wanted)?;
        for row in &rows {
            if items.len() == limit || bytes > PAGE_BYTES_MAX {
                return Ok(wire::ItemPage { items, next: after.map(|item| item.to_string()) });
            }
            bytes += weight(row);
            let mut view = convert::step_view(row, parents.of(browse, row)?);
            secrets.hide_step(&mut view);
            items.push(view);
            after = row.step.in_workflow.and_then(|part| part.item).or(after);
        }
        if rows.len() < wanted {
            return Ok(wire::ItemPage { items, next: None });
        }
    }
}
