//! Runs one job without an engine, for the tests of whoever wrote it.

use crate::context::Context;
use crate::job::Registry;
use engine::Clock;
use model::{
    Claim, Delivery, ForWorkflow, LogLine, Look, LookAt, NewStep, Outcome, Poll, Progress, StepId, Timestamp,
};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// One run of one action, as it would be claimed.
///
/// ```
/// use stepfast_worker::{Outcome, Registry, Trial};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let mut jobs = Registry::new();
/// jobs.job("double", |_, n: u32| async move { Ok(2 * n) });
/// let tried = Trial::of("double").arguments(&21).run(&jobs).await;
/// assert_eq!(tried.outcome, Outcome::Complete { response: Some("42".into()) });
/// # }
/// ```
pub struct Trial {
    claim: Claim,
    previous: Vec<String>,
    clock: Arc<Hands>,
    cancelled: bool,
}

/// What a run asked for.
#[derive(Debug)]
pub struct Tried {
    pub outcome: Outcome,
    pub log: Vec<LogLine>,
    /// How far it last said it was.
    pub progress: Option<Progress>,
    /// What it put on record of a delivery.
    pub delivery: Option<Delivery>,
}

impl Tried {
    pub fn children(&self) -> &[NewStep] {
        match &self.outcome {
            Outcome::Children { children, .. } => children,
            _ => &[],
        }
    }
    /// What it completed with, as JSON.
    pub fn response(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Complete { response } | Outcome::Children { response, .. } => response.as_deref(),
            _ => None,
        }
    }
}

/// A clock that stands still until it is moved.
#[derive(Default)]
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

impl Trial {
    pub fn of(action: &str) -> Trial {
        let claim = Claim {
            step: StepId::of(1),
            attempt: 1,
            action: action.into(),
            queue: "default".into(),
            arguments: "{}".into(),
            failed_attempts: 0,
            max_attempts: 3,
            place: None,
            look: None,
            poll: None,
            trace: None,
            message_group: None,
            workflow: None,
            opens: Vec::new(),
        };
        Trial { claim, previous: Vec::new(), clock: Arc::default(), cancelled: false }
    }
    pub fn arguments(mut self, arguments: &impl Serialize) -> Trial {
        self.claim.arguments = serde_json::to_string(arguments).unwrap_or_default().into();
        self
    }
    /// So many attempts have failed, of so many that there are.
    pub fn failed(mut self, failed: u32, max_attempts: u32) -> Trial {
        (self.claim.attempt, self.claim.failed_attempts) = (failed + 1, failed);
        self.claim.max_attempts = max_attempts;
        self
    }
    /// A run that comes back to look at what an earlier one did.
    pub fn looks(mut self, at: LookAt, response: &impl Serialize) -> Trial {
        let response = serde_json::to_string(response).ok().map(Into::into);
        self.claim.look = Some(Look { at, response });
        self
    }
    /// What the steps at the index before it answered.
    pub fn previous(mut self, answers: impl IntoIterator<Item: Serialize>) -> Trial {
        let text = |answer| serde_json::to_string(&answer).unwrap_or_default();
        self.previous = answers.into_iter().map(text).collect();
        self
    }
    /// So long after the beginning of time.
    pub fn at(self, time: Duration) -> Trial {
        self.clock.0.store(time.as_micros() as i64, Ordering::Relaxed);
        self
    }
    /// It is done for this workflow.
    pub fn for_workflow(mut self, of: ForWorkflow) -> Trial {
        self.claim.workflow = Some(Arc::new(of));
        self
    }
    /// It is the how-manieth poll, and the one before it said this.
    pub fn poll(mut self, number: u32, previous: Option<&impl Serialize>) -> Trial {
        let previous = previous.and_then(|said| serde_json::to_string(said).ok()).map(Into::into);
        self.claim.poll = Some(Poll { number, previous });
        self
    }
    pub fn cancelled(mut self) -> Trial {
        self.cancelled = true;
        self
    }
    /// Run it as a worker would, panics included.
    pub async fn run(self, jobs: &Registry) -> Tried {
        let context = Context::alone(self.claim, self.previous, self.clock);
        if self.cancelled {
            context.cancel();
        }
        let outcome = crate::desk::run(jobs, context.clone()).await;
        Tried {
            outcome,
            log: context.take_log(),
            progress: context.tell_progress(),
            delivery: context.take_delivery(),
        }
    }
}
