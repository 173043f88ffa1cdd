//! What a session holds, from the moment it is given until the engine has confirmed its outcome.
//!
//! Why    a heartbeat names what is held, and the engine takes back what it leaves out. A claim that waits for its place, and an
//!        outcome that is finished, or on its way, or waiting to be sent again, are therefore as much held as a job that runs.

use crate::Context;
use engine::Told;
use model::{Claim, Report, StepId};
use std::collections::{HashMap, VecDeque};
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

/// How far an attempt is.
enum At {
    Waiting,
    Running(Running),
    /// What came of it is not stored yet.
    Ended,
}

impl At {
    fn cancel(self) {
        if let At::Running(job) = self {
            job.cancel();
        }
    }
}

#[derive(Default)]
pub struct Held {
    attempts: HashMap<StepId, (u32, At)>,
    /// Those that wait for a place, in the order they were given.
    waiting: VecDeque<Claim>,
}

impl Held {
    /// It is held from now on, and begun when there is a place. What is handed over twice is run once.
    pub fn wait(&mut self, claim: Claim) {
        let (step, attempt) = (claim.step, claim.attempt);
        if self.attempts.get(&step).is_some_and(|(a, _)| *a == attempt) {
            return;
        }
        // A newer attempt is only given out when the one before it is lost.
        if let Some((_, before)) = self.attempts.insert(step, (attempt, At::Waiting)) {
            self.waiting.retain(|other| other.step != step);
            before.cancel();
        }
        self.waiting.push_back(claim);
    }
    /// The one that has waited longest, to be begun at once.
    pub fn next(&mut self) -> Option<Claim> {
        self.waiting.pop_front()
    }
    pub fn is_anyone_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
    pub fn begun(&mut self, step: StepId, attempt: u32, job: Running) {
        self.attempts.insert(step, (attempt, At::Running(job)));
    }
    /// The job has come to its end; what came of it is not stored yet.
    pub fn ended(&mut self, step: StepId, attempt: u32) {
        if let Some((a, at)) = self.attempts.get_mut(&step)
            && *a == attempt
        {
            *at = At::Ended;
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
    /// The step is not this session's any more: a job that runs is told, one that waits never begins. What has ended learns it
    /// from the answer to its report.
    pub fn revoke(&mut self, step: StepId, attempt: u32) {
        let is_it = |(a, at): &(u32, At)| *a == attempt && !matches!(at, At::Ended);
        if self.attempts.get(&step).is_some_and(is_it)
            && let Some((_, at)) = self.attempts.remove(&step)
        {
            self.waiting.retain(|claim| claim.step != step);
            at.cancel();
        }
    }
    pub fn cancel_all(&mut self) {
        self.waiting.clear();
        self.attempts.drain().for_each(|(_, (_, at))| at.cancel());
    }
    pub fn abort_all(&mut self) {
        self.waiting.clear();
        for (_, (_, at)) in self.attempts.drain() {
            if let At::Running(job) = at {
                job.task.abort();
            }
        }
    }
    /// What a heartbeat says.
    pub fn named(&self) -> Vec<(StepId, u32)> {
        self.attempts.iter().map(|(step, (attempt, _))| (*step, *attempt)).collect()
    }
    fn running(&self) -> impl Iterator<Item = (StepId, u32, &Context)> {
        self.attempts.iter().filter_map(|(step, (attempt, at))| match at {
            At::Running(job) => Some((*step, *attempt, &job.context)),
            At::Waiting | At::Ended => None,
        })
    }
    pub fn n_running(&self) -> usize {
        self.running().count()
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
    /// Something was begun of which the engine does not know the end.
    pub fn is_busy(&self) -> bool {
        self.attempts.len() > self.waiting.len()
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
            delivery: None,
        }
    }

    fn claim(step: StepId, attempt: u32) -> Claim {
        Claim {
            step,
            attempt,
            action: "work".into(),
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
        }
    }

    /// These are given, in this order.
    fn given(claims: &[(u64, u32)]) -> Held {
        let mut held = Held::default();
        claims.iter().for_each(|(step, attempt)| held.wait(claim(StepId::of(*step), *attempt)));
        held
    }

    fn left(mut held: Held) -> Vec<(StepId, u32)> {
        std::iter::from_fn(|| held.next()).map(|claim| (claim.step, claim.attempt)).collect()
    }

    /// A heartbeat sent while a report was on its way left the step out, and the engine took it for lost.
    #[test]
    fn an_attempt_is_named_until_its_report_is_answered() {
        let (mut held, step) = (given(&[(7, 1)]), StepId::of(7));
        assert_eq!(held.named(), [(step, 1)], "from the moment it is given");
        assert!(!held.is_busy());
        assert!(held.next().is_some());
        held.ended(step, 1);
        assert_eq!(held.named(), [(step, 1)]);
        assert!(held.is_busy());
        held.confirmed(&[report(step, 1)]);
        assert!(held.named().is_empty() && !held.is_busy());
    }

    #[test]
    fn the_answer_to_an_older_attempt_leaves_the_newer_one() {
        let (mut held, step) = (given(&[(7, 1), (7, 2)]), StepId::of(7));
        held.confirmed(&[report(step, 1)]);
        assert_eq!(held.named(), [(step, 2)]);
        assert_eq!(left(held), [(step, 2)], "of the older one nothing begins");
    }

    #[test]
    fn claims_begin_in_the_order_they_were_given_and_once_each() {
        let order = left(given(&[(3, 1), (1, 1), (3, 1), (2, 5), (1, 1)]));
        assert_eq!(order, [(StepId::of(3), 1), (StepId::of(1), 1), (StepId::of(2), 5)]);
    }

    #[test]
    fn what_is_taken_away_while_it_waits_is_neither_begun_nor_named() {
        let mut held = given(&[(1, 1), (2, 1), (3, 2)]);
        held.revoke(StepId::of(2), 1);
        held.revoke(StepId::of(3), 1);
        assert_eq!(held.named().len(), 2);
        assert_eq!(left(held), [(StepId::of(1), 1), (StepId::of(3), 2)]);
    }
}
