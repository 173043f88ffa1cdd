//! The rows of workflows, of what was told of them and of what they decided.

use super::{Plan, Values, values};
use crate::batch::{Batch, WorkflowEvent, WorkflowWrite};
use crate::sql::Param;
use crate::statements as sql;
use model::{BranchDecision, Workflow};

impl<'a> Plan<'a> {
    pub(super) fn put_workflows(&mut self, batch: &'a Batch) {
        let (mut new, mut moved) = (vec![], vec![]);
        for WorkflowWrite { workflow, expected } in &batch.workflows {
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
        let events = batch.workflow_events.iter().map(workflow_event).collect();
        self.put(sql::INSERT_WORKFLOW_EVENT, true, events);
        let decisions = batch.branch_decisions.iter().map(branch_decision).collect();
        self.put(sql::INSERT_BRANCH_DECISION, true, decisions);
        self.put_pauses(batch);
    }
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

/// For `insert_workflow_event.sql`.
fn workflow_event(e: &WorkflowEvent) -> Values<'_> {
    let (key, data) = (e.step_key.as_deref(), e.data.as_deref());
    values![e.dispatch_group.as_str(), e.number, e.workflow.bytes(), e.at, e.kind, key, data]
}

/// For `insert_branch_decision.sql`.
fn branch_decision(d: &BranchDecision) -> Values<'_> {
    values![d.workflow.bytes(), &d.step_key, d.kind, &d.expression, &d.result, &d.inputs, d.at]
}
