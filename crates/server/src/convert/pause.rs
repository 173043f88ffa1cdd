//! Pauses and what was sent to triggers, as the API shows them.

use super::{instant, maybe, raw};
use engine::Triggered;
use model::{Pause, TriggerPayload, Workflow};

pub fn pause_view(pause: &Pause, of: &Workflow) -> wire::PauseView {
    wire::PauseView {
        workflow_id: pause.workflow.to_string(),
        workflow: of.definition.key.to_string(),
        workflow_state: of.state.to_string(),
        step: pause.step_key.to_string(),
        run: pause.run,
        kind: if pause.trigger.is_some() { "trigger" } else { "scheduled" }.into(),
        trigger: pause.trigger.as_ref().map(ToString::to_string),
        state: pause.state.to_string(),
        registered_at: instant(pause.registered_at),
        timeout_at: maybe(pause.timeout_at),
        resume_at: maybe(pause.resume_at),
        reminders: pause.reminders,
        ended_at: maybe(pause.ended_at),
        consumed: pause.consumed,
    }
}

pub fn triggered_view(triggered: &Triggered) -> wire::TriggeredView {
    wire::TriggeredView {
        workflow_id: triggered.workflow.to_string(),
        trigger: triggered.trigger.clone(),
        verdict: triggered.answer.verdict().to_string(),
        why: triggered.answer.why().map(Into::into),
        state: triggered.state.to_string(),
    }
}

pub fn trigger_payload_view(sent: &TriggerPayload) -> wire::TriggerPayloadView {
    wire::TriggerPayloadView {
        number: sent.number,
        trigger: sent.trigger.to_string(),
        verdict: sent.verdict.to_string(),
        why: sent.why.clone(),
        received_at: instant(sent.received_at),
        identity: sent.identity.clone(),
        source: sent.source.clone(),
        webhook_id: sent.webhook_id.clone(),
        payload: sent.payload.as_deref().map(raw),
    }
}
