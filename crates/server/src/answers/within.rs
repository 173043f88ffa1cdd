//! Lists for pages, each of which looks through so much history and no more.
//!
//! Why    what is live has an index, and what ended has none but its id. A page that finds too little goes on where it stopped, so
//!        it may be short, or empty, and still have a next one.

use super::{steps_down_to, workflows};
use crate::access::Scope;
use crate::executions;
use model::{ExecutionName, StepId, WorkflowId};
use store::executions::ExecutionFilter;
use store::{Browse, Filter, Listed, Result, WorkflowFilter};

pub fn steps_within(browse: &Browse, filter: &Filter) -> Result<wire::StepPage> {
    // Those of a block have an index.
    let oldest = match filter.block {
        Some(_) => None,
        None => browse.reach(Listed::Steps, filter.after.map(|id| *id.bytes()))?.map(StepId::from_bytes),
    };
    let page = steps_down_to(browse, filter, oldest)?;
    Ok(wire::StepPage { next: page.next.or(oldest.map(|id| id.to_string())), ..page })
}

/// Of a scope, where there is one.
pub fn workflows_within(
    browse: &Browse,
    filter: &WorkflowFilter,
    scope: Option<&Scope>,
) -> Result<wire::WorkflowPage> {
    // Those that are not over for good have an index by their state; of what is over nothing is quiet.
    let is_open = filter.quiet_since.is_some()
        || (!filter.states.is_empty() && filter.states.iter().all(|state| !state.is_final()));
    let oldest = match is_open && scope.is_none() {
        true => None,
        false => {
            browse.reach(Listed::Workflows, filter.after.map(|id| *id.bytes()))?.map(WorkflowId::from_bytes)
        }
    };
    let page = workflows::workflows_down_to(browse, filter, oldest, scope)?;
    Ok(wire::WorkflowPage { next: page.next.or(oldest.map(|id| id.to_string())), ..page })
}

pub fn executions_within(browse: &Browse, filter: &ExecutionFilter) -> Result<wire::ExecutionPage> {
    let after = filter.after.as_ref().map(|(at, _)| *at);
    let Some(since) = browse.executions_reach(after)? else { return executions::page(browse, filter) };
    let page = executions::page_of(filter, &|filter| browse.executions_since(filter, since))?;
    // Behind all that were begun in that instant; no name is before the empty one.
    let next = || executions::cursor(since, &ExecutionName::new("", ""));
    Ok(wire::ExecutionPage { next: page.next.or_else(|| Some(next())), ..page })
}
