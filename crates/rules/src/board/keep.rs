//! What stays in hand once a turn is durable, and what is let go.

use super::{Board, StepEntry};
use model::{BlockId, State, StepId, limits};
use std::collections::BTreeSet;

impl Board {
    /// The row on disk has this version now (set when the write is composed).
    pub fn set_version(&mut self, id: StepId, version: u64) {
        if let Some(entry) = self.steps.get_mut(&id) {
            entry.step.version = version;
        }
    }
    pub fn set_block_version(&mut self, id: BlockId, version: u64) {
        if let Some(entry) = self.blocks.get_mut(&id) {
            entry.block.version = version;
        }
    }

    /// A turn is durable: let go of what nobody needs in hand.
    pub fn committed(&mut self, steps: &[StepId], blocks: &[BlockId]) {
        // Steps of a block whose turn has not come are kept while there is room: it will come.
        let roomy = self.steps.len() < limits::CACHED_STEPS_MAX / 2;
        for id in steps {
            let Some(entry) = self.steps.get_mut(id) else { continue };
            entry.pins = entry.pins.saturating_sub(1);
            let waits = entry.step.place.is_some() && entry.step.state == State::Pending && roomy;
            let keep = entry.pins > 0
                || entry.change.is_some()
                || entry.step.is_held()
                || entry.step.parked
                || waits;
            if !keep && !self.windows.holds(&entry.step) && !self.lines.holds(&entry.step) {
                self.drop_step(*id);
            }
        }
        for id in blocks {
            if let Some(entry) = self.blocks.get_mut(id) {
                entry.pins = entry.pins.saturating_sub(1);
                if entry.pins == 0
                    && entry.before.is_none()
                    && entry.block.is_at_rest()
                    && !entry.block.touched
                    && self.kin.get(id).is_none_or(BTreeSet::is_empty)
                {
                    self.blocks.remove(id);
                    self.kin.remove(id);
                }
            }
        }
    }

    pub(super) fn drop_step(&mut self, id: StepId) {
        if let Some(entry) = self.steps.remove(&id)
            && let Some(place) = entry.step.place
            && let Some(kin) = self.kin.get_mut(&place.block)
        {
            kin.remove(&(place.index, id));
            if kin.is_empty() {
                self.kin.remove(&place.block);
            }
        }
    }

    /// The row of this step cannot be read again for now: keep it in hand.
    pub fn pin(&mut self, id: StepId) {
        if let Some(entry) = self.steps.get_mut(&id) {
            entry.pins += 1;
        }
    }
    pub fn unpin(&mut self, id: StepId) {
        if let Some(entry) = self.steps.get_mut(&id) {
            entry.pins = entry.pins.saturating_sub(1);
        }
    }

    /// Forget what does not move any more: whole settled trees may have left the tables.
    pub fn forget_settled(&mut self) {
        let idle = |e: &&StepEntry| e.pins == 0 && e.change.is_none() && !e.step.state.is_hot();
        let settled: Vec<StepId> = self.steps.values().filter(idle).map(|e| e.step.id).collect();
        settled.into_iter().for_each(|id| self.drop_step(id));
        let (kin, touched) = (&self.kin, &self.touched);
        self.blocks.retain(|id, e| {
            let idle = e.pins == 0 && e.before.is_none() && e.block.is_at_rest() && !e.block.touched;
            !idle || touched.contains(id) || kin.get(id).is_some_and(|kin| !kin.is_empty())
        });
    }

    /// Forget what can be read again, when there is too much of it.
    pub fn trim(&mut self, steps_max: usize, blocks_max: usize) {
        if self.steps.len() > steps_max {
            let idle: Vec<StepId> = self
                .steps
                .values()
                .filter(|e| {
                    let kept = self.windows.holds(&e.step) || self.lines.holds(&e.step);
                    e.pins == 0 && e.change.is_none() && !e.step.is_held() && !kept
                })
                .map(|e| e.step.id)
                .collect();
            idle.into_iter().for_each(|id| self.drop_step(id));
        }
        if self.blocks.len() > blocks_max {
            self.forgot_blocks = true;
            let (kin, touched) = (&self.kin, &self.touched);
            self.blocks.retain(|id, e| {
                e.pins > 0 || e.before.is_some() || kin.contains_key(id) || touched.contains(id)
            });
        }
    }
}
