//! The claim log in memory: which steps are claimed by a row of `claims` alone, and when such a row is done with.

use model::{StepId, Timestamp, limits};
use std::collections::{BTreeMap, HashMap};

struct Open {
    at: Timestamp,
    steps: Vec<StepId>,
    left: usize,
}

#[derive(Default)]
pub struct ClaimBook {
    /// The log row of each step, and whether its own row is still as it was inserted.
    by_step: HashMap<StepId, (i64, bool)>,
    open: BTreeMap<i64, Open>,
    last: i64,
    done: Vec<i64>,
}

impl ClaimBook {
    pub fn continue_after(&mut self, last: i64) {
        self.last = self.last.max(last);
    }
    pub fn next_id(&mut self) -> i64 {
        self.last += 1;
        self.last
    }
    pub fn log(&mut self, id: i64, at: Timestamp, steps: Vec<(StepId, bool)>) {
        for (step, untouched) in &steps {
            self.by_step.insert(*step, (id, *untouched));
        }
        let steps: Vec<StepId> = steps.into_iter().map(|(step, _)| step).collect();
        self.open.insert(id, Open { at, left: steps.len(), steps });
    }
    /// The step's own row is being written: the log need not speak for it any more. True when that row is untouched.
    pub fn settle(&mut self, step: StepId) -> bool {
        let Some((id, untouched)) = self.by_step.remove(&step) else { return false };
        if let Some(open) = self.open.get_mut(&id) {
            open.left -= 1;
            if open.left == 0 {
                self.open.remove(&id);
                self.done.push(id);
            }
        }
        untouched
    }
    /// A row nobody in this process knows; it is removed with the next commit.
    pub fn drop_row(&mut self, id: i64) {
        self.done.push(id);
    }
    pub fn take_done(&mut self) -> Vec<i64> {
        std::mem::take(&mut self.done)
    }
    /// Steps whose claim is old enough to be written into their own rows.
    pub fn aged(&self, now: Timestamp) -> Vec<StepId> {
        let old = self.open.iter().take_while(|(_, o)| o.at + limits::CLAIM_LOG_AGE <= now);
        let still = |id: i64, step: &StepId| self.by_step.get(step).is_some_and(|(of, _)| *of == id);
        old.flat_map(|(id, o)| o.steps.iter().map(|s| (*id, *s)))
            .filter(|(id, s)| still(*id, s))
            .map(|(_, s)| s)
            .collect()
    }
    pub fn next_at(&self) -> Option<Timestamp> {
        self.open.values().next().map(|o| o.at + limits::CLAIM_LOG_AGE)
    }
}
