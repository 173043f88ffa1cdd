//! What a tracer is told: a span for each attempt that ended, and one for each workflow that is over.
//!
//! Why    they are told after the commit and from what it wrote, so a trace never shows what did not happen. Nothing waits for a
//!        tracer: what it does not take is dropped and counted.

use crate::meters::untold;
use model::{Name, StepId, Timestamp, Trace, Workflow, WorkflowId, attempt_span, hide_sealed, workflow_span};
use prometheus::IntCounter;
use rules::board::{Changes, StepChange};
use store::WorkflowWrite;
use tokio::sync::mpsc;

/// Something that took time and is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// What it is below.
    pub above: Trace,
    pub span: u64,
    /// The attempt before this one: later is not below.
    pub follows: Option<u64>,
    pub of: SpanOf,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    /// The state that it left behind.
    pub outcome: &'static str,
    /// Why, if it failed.
    pub error: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SpanOf {
    Attempt {
        step: StepId,
        attempt: u32,
        action: Name,
        queue: Name,
        host: Option<Name>,
        workflow: Option<WorkflowId>,
    },
    Workflow {
        id: WorkflowId,
        definition: Name,
        version: Name,
    },
}

/// The way to a tracer.
#[derive(Clone, Debug)]
pub struct Spans {
    to: mpsc::Sender<Vec<Span>>,
    dropped: IntCounter,
}

impl Spans {
    /// For a tracer that is at most this many turns behind.
    pub fn channel(turns: usize) -> (Spans, mpsc::Receiver<Vec<Span>>) {
        let (to, told) = mpsc::channel(turns);
        (Spans { to, dropped: untold() }, told)
    }
    /// Spans that the tracer did not take.
    pub(crate) fn dropped(&self) -> IntCounter {
        self.dropped.clone()
    }
    pub(crate) fn tell(&self, spans: Vec<Span>) {
        let n = spans.len() as u64;
        if self.to.try_send(spans).is_err() {
            self.dropped.inc_by(n);
        }
    }
}

/// The attempts that a turn saw the end of.
pub(crate) fn attempts(changes: &Changes, now: Timestamp) -> impl Iterator<Item = Span> + '_ {
    changes.steps.iter().filter_map(move |(step, change)| {
        let StepChange { before: Some(before), detail } = change else { return None };
        if !before.is_held() || (step.is_held() && step.attempt == before.attempt) {
            return None;
        }
        let above = before.traced();
        let failed =
            step.failed_attempts > before.failed_attempts || step.lost_attempts > before.lost_attempts;
        let told = || readable(detail.error_message.as_ref().or(detail.note.as_ref()));
        above.sampled.then(|| Span {
            span: attempt_span(before.id, before.attempt),
            follows: (before.attempt > 1).then(|| attempt_span(before.id, before.attempt - 1)),
            of: SpanOf::Attempt {
                step: before.id,
                attempt: before.attempt,
                action: before.action.clone(),
                queue: before.queue.clone(),
                host: before.host.clone(),
                workflow: before.in_workflow.map(|part| part.workflow),
            },
            above,
            started_at: before.started_at.unwrap_or(now),
            ended_at: now,
            outcome: step.state.word(),
            error: (failed || step.state == model::State::Failed).then(told),
        })
    })
}

/// The workflows that a turn saw the end of.
pub(crate) fn workflows(writes: &[WorkflowWrite]) -> impl Iterator<Item = Span> + '_ {
    writes.iter().filter_map(|WorkflowWrite { workflow, .. }| {
        let ended_at = workflow.completed_at.filter(|_| workflow.state.is_final())?;
        let above = above(workflow);
        above.sampled.then(|| Span {
            above,
            span: workflow_span(workflow.id),
            follows: None,
            of: SpanOf::Workflow {
                id: workflow.id,
                definition: workflow.definition.key.clone(),
                version: workflow.definition.version.clone(),
            },
            started_at: workflow.created_at,
            ended_at,
            outcome: workflow.state.word(),
            error: (workflow.state != model::WorkflowState::Succeeded)
                .then(|| readable(workflow.message.as_ref())),
        })
    })
}

/// A collector is read by people who are not told secrets.
fn readable(words: Option<&String>) -> String {
    words.map_or_else(String::new, |words| hide_sealed(words).unwrap_or_else(|| words.clone()))
}

fn above(workflow: &Workflow) -> Trace {
    workflow.trace.as_deref().cloned().unwrap_or_else(|| Trace::of_workflow(workflow.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tracer_does_not_take_is_counted() {
        let (spans, mut told) = Spans::channel(1);
        let id = WorkflowId::from_bytes([7; 16]);
        let span = Span {
            above: Trace::of_workflow(id),
            span: 1,
            follows: None,
            of: SpanOf::Workflow { id, definition: "order".into(), version: "1.0.0".into() },
            started_at: Timestamp(0),
            ended_at: Timestamp(1),
            outcome: "succeeded",
            error: None,
        };
        spans.tell(vec![span.clone()]);
        assert_eq!(spans.dropped().get(), 0);
        spans.tell(vec![span.clone(), span.clone()]);
        assert_eq!(spans.dropped().get(), 2, "there is room for one turn");
        assert_eq!(told.try_recv(), Ok(vec![span]));
    }
}
