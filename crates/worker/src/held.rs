//! What a session holds, from the moment an attempt is begun until the engine has confirmed its outcome.
//!
//! Why    a heartbeat names what is held, and the engine takes back what it leaves out. An outcome that is finished, or
//!        on its way, or waiting to be sent again is therefore as much held as a job that runs.

use model::{Report, StepId};
use std::collections::HashMap;
use tokio::task::AbortHandle;

#[derive(Default)]
pub struct Held {
    /// The attempt, and the job while it runs.
    attempts: HashMap<StepId, (u32, Option<AbortHandle>)>,
}

impl Held {
    pub fn begin(&mut self, step: StepId, attempt: u32, job: Option<AbortHandle>) {
        self.attempts.insert(step, (attempt, job));
    }
    /// The job has come to its end; what came of it is not stored yet.
    pub fn ended(&mut self, step: StepId, attempt: u32) {
        if let Some((a, job)) = self.attempts.get_mut(&step)
            && *a == attempt
        {
            *job = None;
        }
    }
    /// The engine has answered these reports.
    pub fn confirmed(&mut self, reports: &[Report]) {
        for Report { step, attempt, .. } in reports {
            if self.attempts.get(step).is_some_and(|(a, _)| a == attempt) {
                self.attempts.remove(step);
            }
        }
    }
    /// The engine has given the step to someone else. What has ended learns that from the answer to its report.
    pub fn revoke(&mut self, step: StepId, attempt: u32) {
        if let Some((a, Some(job))) = self.attempts.get(&step)
            && *a == attempt
        {
            job.abort();
            self.attempts.remove(&step);
        }
    }
    pub fn abort_all(&mut self) {
        for (_, (_, job)) in self.attempts.drain() {
            job.inspect(AbortHandle::abort);
        }
    }
    /// What a heartbeat says.
    pub fn named(&self) -> Vec<(StepId, u32)> {
        self.attempts.iter().map(|(step, (attempt, _))| (*step, *attempt)).collect()
    }
    pub fn is_empty(&self) -> bool {
        self.attempts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Outcome, SessionId};

    fn report(step: StepId, attempt: u32) -> Report {
        Report { session: SessionId::of(1), step, attempt, outcome: Outcome::Complete { response: None } }
    }

    /// A heartbeat sent while a report was on its way left the step out, and the engine took it for lost.
    #[test]
    fn an_attempt_is_named_until_its_report_is_answered() {
        let (mut held, step) = (Held::default(), StepId::of(7));
        held.begin(step, 1, None);
        held.ended(step, 1);
        assert_eq!(held.named(), [(step, 1)]);
        held.confirmed(&[report(step, 1)]);
        assert!(held.is_empty());
    }

    #[test]
    fn the_answer_to_an_older_attempt_leaves_the_newer_one() {
        let (mut held, step) = (Held::default(), StepId::of(7));
        held.begin(step, 1, None);
        held.begin(step, 2, None);
        held.confirmed(&[report(step, 1)]);
        assert_eq!(held.named(), [(step, 2)]);
    }
}
