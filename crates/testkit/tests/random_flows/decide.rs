//! What somebody decides about a workflow that came to rest, and what the plain model says of it.

use super::generate::{Kind, Policy, Step, Undo};
use super::oracle::{Place, World};
use model::{CompensationScope, Decision, RetryMode};
use std::collections::BTreeSet;

/// One of all decisions, fitting or not, the same for the same seed.
pub fn draw(seed: u64, steps: &[Step]) -> Decision {
    let mix = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 20;
    let step = || steps[(mix >> 8) as usize % steps.len()].key.clone();
    let from = |mode| Decision::RetryFromStep {
        step: step(),
        mode,
        include_step: mix & 64 == 0,
        force: false,
        items: None,
    };
    match mix % 12 {
        0 | 1 => Decision::RETRY,
        2..=4 => from(RetryMode::RetryOnly),
        5..=7 => from(RetryMode::CompensateThenRetry),
        8 | 9 => Decision::Compensate { scope: CompensationScope::Full },
        10 => Decision::Cancel { on_cancel: None },
        _ => Decision::MarkResolved,
    }
}

impl World<'_> {
    /// Whether it can be decided; if so, what comes of it.
    pub fn decide(&mut self, decision: &Decision) -> bool {
        let is_open = matches!(self.state, "failed" | "paused");
        match decision {
            Decision::Retry { .. } if self.state == "failed" && !self.broken().is_empty() => {
                self.restart(self.broken())
            }
            Decision::RetryFromStep { step, mode, include_step, .. } if is_open => {
                return self.retry_from(step, *mode, *include_step);
            }
            Decision::Compensate { .. } if is_open || self.state == "running" => {
                let can = self.steps.iter().any(|step| step.undo.is_some());
                let any = (0..self.steps.len()).any(|n| self.is_undone(n)) || !self.live().is_empty();
                if !can || !any {
                    return false;
                }
                self.take_back("workflow_compensating");
                self.state = "compensated";
            }
            Decision::Cancel { .. } if is_open => {
                self.take_back("workflow_cancelled");
                self.state = "cancelled";
            }
            Decision::MarkResolved if self.state == "failed" => {}
            _ => return false,
        }
        true
    }

    /// Steps that a plan has, whatever the scope.
    pub fn is_undone(&self, n: usize) -> bool {
        let step = &self.steps[n];
        let Some(undo) = step.undo else { return false };
        match (&step.kind, self.places[n]) {
            (Kind::FanOut { fails, .. }, Place::Done | Place::Failed) => fails.iter().any(|fails| !fails),
            (_, Place::Done) => true,
            (_, Place::Failed) => undo == Undo::Started,
            _ => false,
        }
    }

    fn broken(&self) -> BTreeSet<usize> {
        let is_broken = |n: &usize| self.places[*n] == Place::Failed && self.steps[*n].policy != Policy::Skip;
        (0..self.steps.len()).filter(is_broken).collect()
    }

    fn live(&self) -> BTreeSet<usize> {
        let is_live =
            |n: &usize| matches!(self.places[*n], Place::Pending | Place::Begun | Place::ItemsPending);
        (0..self.steps.len()).filter(is_live).collect()
    }

    fn take_back(&mut self, reason: &'static str) {
        self.live().into_iter().for_each(|n| self.places[n] = Place::Cancelled(reason));
    }

    fn behind(&self, from: usize) -> BTreeSet<usize> {
        let mut behind = BTreeSet::new();
        // Every step stands behind those it follows.
        for (n, step) in self.steps.iter().enumerate().skip(from + 1) {
            if step.before.iter().any(|edge| edge.from == from || behind.contains(&edge.from)) {
                behind.insert(n);
            }
        }
        behind
    }

    fn retry_from(&mut self, step: &str, mode: RetryMode, include_step: bool) -> bool {
        let n = self.steps.iter().position(|one| one.key == step).expect("a step of the sketch");
        if self.places[n] == Place::Ahead {
            return false;
        }
        let behind = self.behind(n);
        let mut again: BTreeSet<usize> = behind.iter().copied().chain([n]).chain(self.broken()).collect();
        if mode == RetryMode::CompensateThenRetry {
            let within = |one: &usize| behind.contains(one) || include_step && *one == n;
            let any = (0..self.steps.len()).any(|one| within(&one) && self.is_undone(one));
            if !any && self.live().is_empty() {
                return false;
            }
            // Whatever waits is called off, and begins anew with the rest.
            again.extend(self.live());
        }
        self.restart(again);
        true
    }

    fn restart(&mut self, again: BTreeSet<usize>) {
        self.fans.retain(|n| !again.contains(n));
        again.into_iter().for_each(|n| self.places[n] = Place::Ahead);
        self.state = "running";
        self.go_on();
    }
}
