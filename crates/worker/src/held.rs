//! What a session holds, from the moment an attempt is begun until the engine has confirmed its outcome.
//!
//! Why    a heartbeat names what is held, and the engine takes back what it leaves out. An outcome that is finished, or
//!        on its way, or waiting to be sent again is therefore as much held as a job that runs.

use crate::Context;
use engine::Told;
use model::{Report, StepId};
use std::collections::HashMap;
use std::time::Duration;
use tokio::task::AbortHandle;

/// How long a job that is told that it is cancelled may go on.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// A job that runs.
pub struct Running {
    pub task: AbortHandle,
    pub context: Context,
}

impl Running {
    /// Tell it, and drop it if it goes on regardless.
    fn cancel(self) {
        self.context.cancel();
        tokio::spawn(async move {
            tokio::time::sleep(CANCEL_GRACE).await;
            self.task.abort();
        });
    }
}

#[derive(Default)]
pub struct Held {
    /// The attempt, and the job while it runs.
    attempts: HashMap<StepId, (u32, Option<Running>)>,
}

impl Held {
    pub fn begin(&mut self, step: StepId, attempt: u32, job: Option<Running>) {
        self.attempts.insert(step, (attempt, job));
    }
    /// What is handed over twice is run once.
    pub fn has(&self, step: StepId, attempt: u32) -> bool {
        self.attempts.get(&step).is_some_and(|(a, _)| *a == attempt)
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
        let is_it = |(a, job): &(u32, Option<Running>)| *a == attempt && job.is_some();
        if self.attempts.get(&step).is_some_and(is_it)
            && let Some((_, Some(job))) = self.attempts.remove(&step)
        {
            job.cancel();
        }
    }
    pub fn cancel_all(&mut self) {
        self.attempts.drain().filter_map(|(_, (_, job))| job).for_each(Running::cancel);
    }
    pub fn abort_all(&mut self) {
        self.attempts.drain().filter_map(|(_, (_, job))| job).for_each(|job| job.task.abort());
    }
    /// What a heartbeat says.
    pub fn named(&self) -> Vec<(StepId, u32)> {
        self.attempts.iter().map(|(step, (attempt, _))| (*step, *attempt)).collect()
    }
    fn running(&self) -> impl Iterator<Item = (StepId, u32, &Context)> {
        self.attempts
            .iter()
            .filter_map(|(step, (attempt, job))| job.as_ref().map(|job| (*step, *attempt, &job.context)))
    }
    /// Some job has said how far it is, and nobody was told.
    pub fn has_news(&self) -> bool {
        self.running().any(|(_, _, context)| context.has_news())
    }
    /// How far the jobs that run say they are.
    pub fn progress(&self) -> Vec<Told> {
        self.running()
            .filter_map(|(step, attempt, context)| Some((step, attempt, context.tell_progress()?)))
            .collect()
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
        Report {
            session: SessionId::of(1),
            step,
            attempt,
            outcome: Outcome::Complete { response: None },
            log: Vec::new(),
        }
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
