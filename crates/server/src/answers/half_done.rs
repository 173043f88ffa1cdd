//! What is half done: workflows, trees of steps and flows together, oldest first.

use super::progress::{of_flow, of_step, of_workflow};
use crate::secrets::Known;
use model::{Flow, StepId, Timestamp, Workflow, WorkflowId, limits};
use std::collections::HashMap;
use store::{Browse, Result, WORKFLOWS_AT_ONCE};

enum Candidate {
    Workflow(Box<Workflow>),
    Flow(Box<Flow>),
    Tree(StepId),
}

/// What is begun and not over, and what failed, oldest first, behind an id. Only so many are looked at for one page.
pub fn half_done(
    browse: &Browse,
    after: Option<[u8; 16]>,
    limit: usize,
    now: Timestamp,
) -> Result<wire::ProgressPage> {
    let looked_at = (limit * 4).min(limits::HALF_DONE_LOOKED_AT);
    let (candidates, until) = candidates(browse, after.unwrap_or_default(), looked_at)?;
    let around = browse.circumstances(now)?;
    let (mut half_done, mut known, mut last) = (Vec::new(), Known::default(), None);
    let mut courses = HashMap::new();
    for (n, (id, candidate)) in candidates.iter().enumerate() {
        if half_done.len() == limit {
            return Ok(wire::ProgressPage { half_done, next: last });
        }
        let found = match candidate {
            Candidate::Workflow(workflow) => {
                if !courses.contains_key(&workflow.id) {
                    courses = browse.workflow_courses(&next_ones(browse, &candidates[n..], &mut known)?)?;
                }
                let course = courses.remove(&workflow.id).unwrap_or_default();
                Some(of_workflow(browse, (workflow, course), (&mut known, &around))?)
            }
            Candidate::Flow(flow) => Some(of_flow(flow, &browse.flow_steps(flow.id)?)),
            Candidate::Tree(id) => match browse.step(*id)? {
                Some(row) => Some(of_step(browse, &row, (&mut known, &around))?),
                None => None,
            },
        };
        let found = found.filter(|(_, account)| account.is_half_done());
        half_done.extend(found.map(|(view, _)| view));
        last = Some(cursor(*id));
    }
    Ok(wire::ProgressPage { half_done, next: until.map(cursor) })
}

/// Workflows whose courses are read with that of the first: as many as there are steps to be listed at once.
fn next_ones(
    browse: &Browse,
    candidates: &[([u8; 16], Candidate)],
    known: &mut Known,
) -> Result<Vec<WorkflowId>> {
    let (mut ids, mut steps) = (Vec::new(), 0);
    for (_, candidate) in candidates {
        let Candidate::Workflow(workflow) = candidate else { continue };
        steps += known.definition(browse, &workflow.definition)?.steps.len();
        if ids.len() == WORKFLOWS_AT_ONCE || !ids.is_empty() && steps > limits::PROGRESS_STEPS_MAX {
            break;
        }
        ids.push(workflow.id);
    }
    Ok(ids)
}

fn cursor(id: [u8; 16]) -> String {
    StepId::from_bytes(id).to_string()
}

type Candidates = Vec<([u8; 16], Candidate)>;

/// Those that were found by all looks, and behind which to go on; none where nothing is left.
fn candidates(browse: &Browse, after: [u8; 16], limit: usize) -> Result<(Candidates, Option<[u8; 16]>)> {
    let workflows = browse.unfinished_workflows(after, limit)?;
    let flows = browse.unfinished_flows(after, limit)?;
    let trees = browse.unfinished_trees(after, limit)?;
    let mut until = [workflows.until, flows.until, trees.until].into_iter().flatten().min();
    let mut all: Candidates = Vec::new();
    all.extend(workflows.found.into_iter().map(|(id, w)| (id, Candidate::Workflow(Box::new(w)))));
    all.extend(flows.found.into_iter().map(|(id, f)| (id, Candidate::Flow(Box::new(f)))));
    all.extend(trees.found.into_iter().map(|(id, step)| (id, Candidate::Tree(step))));
    // Behind the look that went least far others may have left something out.
    all.retain(|(id, _)| until.is_none_or(|until| *id <= until));
    all.sort_by_key(|(id, _)| *id);
    if all.len() > limit {
        all.truncate(limit);
        until = all.last().map(|(id, _)| *id);
    }
    Ok((all, until))
}
