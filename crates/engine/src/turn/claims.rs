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
    by_step: HashMap<StepId, i64>,
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
    pub fn log(&mut self, id: i64, at: Timestamp, steps: Vec<StepId>) {
        for step in &steps {
            self.by_step.insert(*step, id);
        }
        self.open.insert(id, Open { at, left: steps.len(), steps });
    }
    /// The step's own row is being written: the log need not speak for it any more.
    pub fn settle(&mut self, step: StepId) {
        let Some(id) = self.by_step.remove(&step) else { return };
        if let Some(open) = self.open.get_mut(&id) {
            open.left -= 1;
            if open.left == 0 {
                self.open.remove(&id);
                self.done.push(id);
            }
        }
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
        old.flat_map(|(id, o)| o.steps.iter().filter(|s| self.by_step.get(s) == Some(id))).copied().collect()
    }
    pub fn next_at(&self) -> Option<Timestamp> {
        self.open.values().next().map(|o| o.at + limits::CLAIM_LOG_AGE)
    }
}
