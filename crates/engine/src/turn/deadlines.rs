//! Runs that take too long: whoever has the step loses it, and it is done again if it may.
//!
//! Why    a lease says that a worker lives, not that it gets anywhere. The bound is the step's own, counted from its start.

use super::node::Node;
use super::workflows::shown;
use model::{Detail, Event, Failure, Move, Outcome, Report, Step, StepId, Timestamp};
use rules::worker::{self, Answer};
use std::collections::BTreeSet;
use store::{Result, StoreError};

/// Runs that one turn takes back.
const OVERDUE_PER_TURN: usize = 1_000;

#[derive(Default)]
pub struct Deadlines {
    runs: BTreeSet<(Timestamp, StepId, u32)>,
}

impl Deadlines {
    /// A run has begun.
    pub fn note(&mut self, step: &Step) {
        self.runs.extend(deadline(step));
    }
    /// It is over, or somebody else's.
    pub fn forget(&mut self, step: &Step) {
        if let Some(run) = deadline(step) {
            self.runs.remove(&run);
        }
    }
    pub fn next_at(&self) -> Option<Timestamp> {
        self.runs.first().map(|(at, _, _)| *at)
    }
    fn pop_due(&mut self, now: Timestamp) -> Option<(StepId, u32)> {
        self.next_at().filter(|at| *at <= now)?;
        self.runs.pop_first().map(|(_, step, attempt)| (step, attempt))
    }
}

fn deadline(step: &Step) -> Option<(Timestamp, StepId, u32)> {
    Some((step.started_at? + step.timeout?, step.id, step.attempt))
}

impl Node {
    /// Take back what takes too long.
    pub(super) fn end_overdue(&mut self, now: Timestamp) -> Result<()> {
        for _ in 0..OVERDUE_PER_TURN {
            let Some((id, attempt)) = self.deadlines.pop_due(now) else { break };
            if !self.bring(id)? {
                continue;
            }
            let Some(step) = self.board.step(id).filter(|s| s.is_held() && s.attempt == attempt) else {
                continue;
            };
            let (Some(session), Some(timeout)) = (step.session, step.timeout) else { continue };
            let message = format!("attempt {attempt} took longer than {}", shown(Some(timeout)));
            if step.failed_attempts + 1 >= step.max_attempts {
                let detail = Detail { error_message: Some(message), ..Detail::default() };
                self.apply(Move { detail, ..Move::new(id, Event::TimedOut) })?;
                continue;
            }
            let failure = Some(Failure { message, trace: None });
            let outcome = Outcome::Retry { after: None, failure };
            let report = Report { session, step: id, attempt, outcome, log: Vec::new(), delivery: None };
            let children = step.child_block.and_then(|block| self.board.block(block));
            if let Answer::Applied(effects) = worker::decide(step, children, &report, now) {
                for effect in effects {
                    self.board.apply(effect).map_err(|e| StoreError::Lost { what: e.to_string() })?;
                }
            }
            if let Some(at) = self.board.step(id).and_then(|step| step.wake_at) {
                self.timers.set(now, at, id);
            }
        }
        Ok(())
    }
}
