//! The rows of workflows, of what was told of them and of what they decided.

use super::{Plan, Values, values};
use crate::batch::{Batch, WorkflowEvent, WorkflowWrite};
use crate::sql::Param;
use crate::statements as sql;
use model::{
    Aftermath, BranchDecision, CompensationRun, Decision, ResolutionDecision, Workflow, WorkflowState,
};
use std::collections::BTreeMap;

impl<'a> Plan<'a> {
    pub(super) fn put_workflows(&mut self, batch: &'a Batch) {
        let (mut new, mut moved) = (vec![], vec![]);
        for WorkflowWrite { workflow, expected, .. } in &batch.workflows {
            match expected {
                None => new.push(new_workflow(workflow)),
                Some(expected) => moved.push(moved_workflow(workflow, *expected)),
            }
        }
        self.put(sql::INSERT_WORKFLOW, true, new);
        let made =
            batch.workflows.iter().filter(|write| write.expected.is_none()).map(|write| &write.workflow);
        let label = |w: &'a Workflow| w.labels.iter().map(|(name, value)| values![name, value, w.id.bytes()]);
        self.put(sql::INSERT_WORKFLOW_LABEL, true, made.flat_map(label).collect());
        self.put(sql::WRITE_WORKFLOW, true, moved);
        // One that is new may have failed in the turn that made it.
        let after = batch.workflows.iter().filter_map(|WorkflowWrite { workflow, expected, .. }| {
            let version = expected.map_or(workflow.version, |expected| expected + 1);
            Some(aftermath(workflow, workflow.aftermath.as_deref()?, version))
        });
        self.put(sql::WRITE_AFTERMATH, true, after.collect());
        let decisions = batch.resolution_decisions.iter().map(resolution_decision).collect();
        self.put(sql::INSERT_RESOLUTION_DECISION, true, decisions);
        self.put(sql::INSERT_COMPENSATION_RUN, true, batch.new_runs.iter().map(new_run).collect());
        self.put(sql::WRITE_COMPENSATION_RUN, true, batch.moved_runs.iter().map(moved_run).collect());
        let events = batch.workflow_events.iter().map(workflow_event).collect();
        self.put(sql::INSERT_WORKFLOW_EVENT, true, events);
        let decisions = batch.branch_decisions.iter().map(branch_decision).collect();
        self.put(sql::INSERT_BRANCH_DECISION, true, decisions);
        self.put_pauses(batch);
    }
}

/// For `add_tally.sql`: how many workflows of each definition are open in each state. They stand in no queue, so that they are apart from
/// steps.
pub(super) fn tallies(batch: &Batch) -> Vec<Values<'_>> {
    let mut counts: BTreeMap<(&str, &str, &str), i64> = BTreeMap::new();
    for WorkflowWrite { workflow, counted, .. } in &batch.workflows {
        let now = workflow.open_state();
        if now != *counted {
            let mut count = |state: WorkflowState, n: i64| {
                let key = (workflow.dispatch_group.as_str(), &*workflow.definition.key, state.word());
                *counts.entry(key).or_default() += n;
            };
            counted.iter().for_each(|state| count(*state, -1));
            now.iter().for_each(|state| count(*state, 1));
        }
    }
    let changed = counts.into_iter().filter(|(_, n)| *n != 0);
    changed.map(|((group, key, state), n)| values![group, "", key, "", state, false, false, n]).collect()
}

/// For `insert_workflow.sql`.
fn new_workflow(w: &Workflow) -> Values<'_> {
    values![
        w.id.bytes(),
        &*w.definition.key,
        &*w.definition.version,
        &*w.definition.hash,
        w.dispatch_group.as_str(),
        w.state.word(),
        w.message.as_deref(),
        w.parent.as_ref().map(|step| step.bytes()),
        w.depth,
        &*w.input,
        w.output.as_deref(),
        labels(&w.labels),
        w.created_at,
        w.started_at,
        w.completed_at,
        w.wake_at,
        w.concurrency_key.as_deref(),
        w.expected_at,
        w.paused_by.map(|by| by.word()),
        w.trace.as_ref().map(ToString::to_string),
    ]
}

fn labels(labels: &[(String, String)]) -> Param<'static> {
    let object: serde_json::Map<_, _> = labels.iter().map(|(k, v)| (k.clone(), v.as_str().into())).collect();
    Param::from(serde_json::Value::Object(object).to_string())
}

/// For `write_workflow.sql`.
fn moved_workflow(w: &Workflow, expected: u64) -> Values<'_> {
    values![
        w.state.word(),
        w.message.as_deref(),
        w.output.as_deref(),
        w.started_at,
        w.completed_at,
        w.wake_at,
        w.paused_by.map(|by| by.word()),
        w.id.bytes(),
        expected,
    ]
}

/// For `write_aftermath.sql`.
fn aftermath<'a>(w: &'a Workflow, after: &'a Aftermath, expected: u64) -> Values<'a> {
    let undo = after.undo.as_ref().map(|undo| serde_json::to_string(undo).unwrap_or_default());
    values![
        after.auto_retries,
        after.auto_retry_at,
        after.restarted_at,
        after.resolved_at,
        after.cancel_requested_at,
        after.compensation_started_at,
        after.compensated_at,
        after.compensations,
        i64::from(after.has_skips),
        undo,
        w.id.bytes(),
        expected,
    ]
}

/// For `insert_resolution_decision.sql`.
fn resolution_decision(d: &ResolutionDecision) -> Values<'_> {
    let from = match &d.decision {
        Decision::RetryFromStep { step, .. } => Some(step.as_str()),
        _ => None,
    };
    let detail = serde_json::to_string(&d.decision).unwrap_or_default();
    values![d.workflow.bytes(), d.at, d.decision.word(), &d.by, &d.why, from, detail]
}

/// For `insert_compensation_run.sql`.
fn new_run(run: &CompensationRun) -> Values<'_> {
    values![
        run.workflow.bytes(),
        run.compensation,
        run.position,
        &run.step_key,
        run.undoes.bytes(),
        &run.action,
        run.state.word(),
    ]
}

/// For `write_compensation_run.sql`.
fn moved_run(run: &CompensationRun) -> Values<'_> {
    values![
        run.state.word(),
        run.step.as_ref().map(|step| step.bytes()),
        run.items_done,
        run.items_skipped,
        run.cursor.map(|(at, _)| at),
        run.cursor.as_ref().map(|(_, id)| id.bytes()),
        run.started_at,
        run.finished_at,
        run.failure_message.as_deref(),
        run.workflow.bytes(),
        run.compensation,
        run.position,
    ]
}

/// For `insert_workflow_event.sql`.
fn workflow_event(e: &WorkflowEvent) -> Values<'_> {
    let (key, data) = (e.step_key.as_deref(), e.data.as_deref());
    values![e.dispatch_group.as_str(), e.number, e.workflow.bytes(), e.at, e.kind, key, data]
}

/// For `insert_branch_decision.sql`.
fn branch_decision(d: &BranchDecision) -> Values<'_> {
    values![d.workflow.bytes(), &d.step_key, d.kind, &d.expression, &d.result, &d.inputs, d.at]
}
