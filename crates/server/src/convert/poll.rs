//! Polls as the API shows them.

use super::instant;
use model::{PollAttempt, Reason, State, Step, Timestamp};
use store::StepRow;

pub fn poll_view(poll: &PollAttempt) -> wire::PollView {
    wire::PollView {
        number: poll.number,
        attempt: poll.attempt,
        at: instant(poll.at),
        verdict: poll.verdict.to_string(),
        next_interval_ms: poll.next_interval.map(|wait| wait.as_millis() as u64),
        data: poll.data.clone(),
    }
}

/// How far the polls of a step are; none if it was never polled.
pub fn polls_view(step: &Step, last: &[PollAttempt]) -> Option<wire::PollsView> {
    let polled = step.polled.as_ref()?;
    Some(wire::PollsView {
        made: step.polls,
        started_at: instant(polled.started_at),
        next_at: next_poll(step).map(instant),
        last: last.iter().map(poll_view).collect(),
    })
}

/// When it is polled next; while its workflow is held, nobody knows.
fn next_poll(step: &Step) -> Option<Timestamp> {
    let waits = step.state == State::Polling && step.reason != Some(Reason::WorkflowHeld);
    step.wake_at.filter(|_| waits)
}

pub fn polling_view(row: &StepRow, workflow: Option<String>, now: Timestamp) -> wire::PollingView {
    let step = &row.step;
    let next = next_poll(step);
    wire::PollingView {
        step_id: step.id.to_string(),
        step_key: row.detail.step_key.clone(),
        workflow_id: step.in_workflow.map(|part| part.workflow.to_string()),
        workflow,
        action: step.action.to_string(),
        queue: step.queue.to_string(),
        dispatch_group: step.dispatch_group.to_string(),
        polls: step.polls,
        poll_started_at: step.polled.as_ref().map(|polled| instant(polled.started_at)),
        next_poll_at: next.map(instant),
        is_due: next.is_some_and(|at| at <= now),
    }
}
