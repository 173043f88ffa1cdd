//! Puts the rows of a plan on the board, or where another node finds them.

use super::node::{Node, Turn};
use model::{Block, BlockId, Step};
use rules::creation::Plan;
use std::collections::HashSet;
use store::Result;

impl Node {
    pub(super) fn carry_out(&mut self, turn: &mut Turn, mut plan: Plan) -> Result<()> {
        let number = self.turn_number;
        if !self.owns_all() {
            let (blocks, own_blocks): (Vec<Block>, _) =
                plan.blocks.into_iter().partition(|b| !self.owns(&b.home));
            let theirs: HashSet<BlockId> = blocks.iter().map(|b| b.id).collect();
            // A step counts with the block that is made with it, wherever it stands in line.
            let abroad = |s: &Step| match s.block() {
                Some(block) => theirs.contains(&block),
                None => !self.owns(&s.dispatch_group),
            };
            let (steps, own_steps) = plan.steps.into_iter().partition(|(s, _)| abroad(s));
            (plan.steps, plan.blocks) = (own_steps, own_blocks);
            self.settle_abroad(turn, Plan { steps, blocks, ..Plan::default() })?;
        }
        for block in plan.blocks {
            self.board.insert_block(block);
        }
        for (step, block) in plan.adopt {
            self.board.set_child_block(step, block);
        }
        for (step, detail) in plan.steps {
            self.insert(turn, step, detail, number)?;
        }
        Ok(())
    }

    pub(super) fn insert(
        &mut self,
        turn: &mut Turn,
        step: Step,
        detail: model::Detail,
        number: u64,
    ) -> Result<()> {
        self.note_expiry(step.expires_at);
        if self.board.is_elsewhere(&step) {
            self.insert_away(turn, step, detail);
            return Ok(());
        }
        if step.line().is_some() {
            if let Some(at) = step.wake_at {
                self.timers.set(self.board.now, at, step.id);
            }
            let anyone = self.has_room();
            self.sources.lines.expect(&step, &mut self.board, &mut *self.store, anyone)?;
            self.board.insert_step(step, detail);
            return Ok(());
        }
        let admitted = self.sources.admits(&step, &self.board);
        let wanted = self.board.windows.is_wanted(&step.queue, &step.action);
        if let Some(at) = step.wake_at {
            self.timers.set(self.board.now, at, step.id);
        }
        let id = step.id;
        if admitted && wanted {
            self.board.insert_step(step, detail);
        } else {
            self.sources.spill(&step, number);
            self.board.insert_step(step, detail);
            self.board.keep_on_disk(id);
        }
        Ok(())
    }
}
