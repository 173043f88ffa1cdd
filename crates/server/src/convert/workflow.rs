//! Workflows, their events and decisions, and definitions, as the API shows them.

use super::{instant, maybe, raw};
use definition::Diagnostic;
use engine::{Started, WorkflowOperated};
use model::{Block, BranchDecision, Timestamp, Workflow};
use serde_json::{Map, Value};
use store::{DefinitionLine, EventLine};

pub fn workflow_view(workflow: &Workflow) -> wire::WorkflowView {
    let after = workflow.aftermath.as_deref();
    wire::WorkflowView {
        id: workflow.id.to_string(),
        workflow: workflow.definition.key.to_string(),
        version: workflow.definition.version.to_string(),
        state: workflow.state.to_string(),
        paused_by: workflow.paused_by.map(|by| by.to_string()),
        message: workflow.message.clone(),
        labels: workflow.labels.iter().cloned().collect(),
        parent_step_id: workflow.parent.map(|step| step.to_string()),
        dispatch_group: workflow.dispatch_group.to_string(),
        created_at: instant(workflow.created_at),
        started_at: maybe(workflow.started_at),
        completed_at: maybe(workflow.completed_at),
        expected_at: maybe(workflow.expected_at),
        auto_retry_at: maybe(after.and_then(|after| after.auto_retry_at)),
        resolved_at: maybe(after.and_then(|after| after.resolved_at)),
        cancel_requested_at: maybe(after.and_then(|after| after.cancel_requested_at)),
        has_skips: after.is_some_and(|after| after.has_skips),
        revision: workflow.version,
    }
}

pub fn started_view(started: &Started) -> wire::StartedView {
    wire::StartedView {
        id: started.id.to_string(),
        workflow: started.workflow.clone(),
        version: started.version.clone(),
        dispatch_group: started.dispatch_group.to_string(),
    }
}

pub fn workflow_operated_view(done: &WorkflowOperated, dry_run: bool) -> wire::WorkflowOperatedView {
    wire::WorkflowOperatedView {
        id: done.workflow.to_string(),
        from: done.from.to_string(),
        to: done.to.to_string(),
        revision: done.version,
        dry_run,
        effects: done.effects.clone(),
    }
}

pub fn workflow_event_view(line: &EventLine) -> wire::WorkflowEventView {
    wire::WorkflowEventView {
        number: line.number,
        at: instant(line.at),
        kind: line.kind.clone(),
        step_key: line.step_key.clone(),
        data: line.data.as_deref().map(raw),
    }
}

/// Events with instants of the engine, which are numbers.
const WITH_INSTANTS: [&str; 3] = ["auto_retry.scheduled", "workflow.awaiting_trigger", "trigger.timed_out"];

/// What goes with an event, for people.
pub fn event_note(event: &wire::WorkflowEventView) -> Option<String> {
    let text = event.data.as_ref()?.get();
    if !WITH_INSTANTS.contains(&event.kind.as_str()) {
        return Some(text.into());
    }
    let Ok(mut fields) = serde_json::from_str::<Map<String, Value>>(text) else { return Some(text.into()) };
    for (name, value) in &mut fields {
        let at = value.as_i64().filter(|_| name == "at" || name.ends_with("_at"));
        if let Some(at) = at {
            *value = instant(Timestamp(at)).into();
        }
    }
    Some(Value::Object(fields).to_string())
}

pub fn cloud_event(line: &EventLine) -> wire::CloudEvent {
    wire::CloudEvent {
        specversion: "1.0".into(),
        id: format!("{}/{}", line.dispatch_group, line.number),
        source: format!("/v1/workflows/{}", line.workflow),
        kind: format!("stepfast.{}", line.kind),
        subject: line.step_key.clone(),
        time: instant(line.at),
        datacontenttype: "application/json".into(),
        data: line.data.as_deref().map(raw),
    }
}

pub fn decision_view(decision: &BranchDecision) -> wire::DecisionView {
    wire::DecisionView {
        step_key: decision.step_key.clone(),
        kind: decision.kind.into(),
        expression: decision.expression.clone(),
        result: raw(&decision.result),
        inputs: raw(&decision.inputs),
        at: instant(decision.at),
    }
}

/// The items of a fan-out; `list` is what it was done for.
pub fn item_counts(block: &Block, list: &str) -> wire::ItemCounts {
    let steps = &block.steps;
    let (told, failed) = (steps.counting() + block.to_come, steps.failed_set() + steps.cancelled);
    // One that is made again counts as failed and as one that is to come until it is.
    let total = if block.to_come > 0 && failed > 0 { items_of(list).unwrap_or(told) } else { told };
    wire::ItemCounts {
        total,
        to_come: block.to_come,
        live: steps.hot,
        completed: steps.concluded(),
        failed: failed.saturating_sub(told.saturating_sub(total)),
    }
}

fn items_of(list: &str) -> Option<u32> {
    match serde_json::from_str(list).ok()? {
        serde_json::Value::Array(items) => items.len().try_into().ok(),
        number => number.as_u64()?.try_into().ok(),
    }
}

pub fn definition_view(line: &DefinitionLine) -> wire::DefinitionView {
    wire::DefinitionView {
        workflow: line.key.clone(),
        version: line.version.clone(),
        hash: line.hash.clone(),
        created_at: instant(line.created_at),
        created_by: line.created_by.clone(),
        live: line.live,
    }
}

pub fn definition_fault(found: &Diagnostic) -> wire::DefinitionFault {
    wire::DefinitionFault {
        line: found.line,
        column: found.column,
        message: found.message.clone(),
        fix: found.fix.clone(),
        field: (!found.field.is_empty()).then(|| found.field.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{BlockId, DispatchGroup};

    #[test]
    fn an_item_that_is_made_again_is_counted_once() {
        let mut block = Block::new(BlockId::of(1), DispatchGroup::new("alpha"));
        (block.steps.completed, block.steps.failed) = (7, 3);
        let of = |block: &Block| {
            let counts = item_counts(block, "10");
            (counts.total, counts.to_come, counts.completed, counts.failed)
        };
        assert_eq!(of(&block), (10, 0, 7, 3));
        block.to_come = 3;
        assert_eq!(of(&block), (10, 3, 7, 0), "all three are made again");
        (block.steps.failed, block.steps.superseded, block.steps.hot, block.to_come) = (2, 1, 1, 2);
        assert_eq!(of(&block), (10, 2, 7, 0));
        let list = item_counts(&block, "[1,2,3,4,5,6,7,8,9,0]");
        assert_eq!(list.total, 10);
    }

    #[test]
    fn instants_of_the_engine_are_told_as_such_and_what_others_sent_stays_as_it_is() {
        let note = |kind: &str, data: &str| {
            let event = wire::WorkflowEventView {
                number: 1,
                at: String::new(),
                kind: kind.into(),
                step_key: None,
                data: Some(raw(data)),
            };
            event_note(&event).unwrap()
        };
        assert_eq!(
            note("auto_retry.scheduled", r#"{"at":1800000000000000,"retry":2}"#),
            r#"{"at":"2027-01-15T08:00:00.000000Z","retry":2}"#
        );
        assert_eq!(
            note("workflow.awaiting_trigger", r#"{"resume_at":null,"timeout_at":1800000000000001}"#),
            r#"{"resume_at":null,"timeout_at":"2027-01-15T08:00:00.000001Z"}"#
        );
        let theirs = r#"{"at": 1800000000000000}"#;
        assert_eq!(note("trigger.received", theirs), theirs);
    }
}
