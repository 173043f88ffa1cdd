//! Settles steps and workflows in turns, with a watch on the phases.

use super::node::{Node, Turn};
use super::ticks::TurnFigures;
use crate::Stopwatch;
use model::{Block, BlockId, DispatchGroup, Step, StepId, Timestamp, limits};
use rules::dispatcher::PIPELINE;
use rules::settle::{Mode, Settled, Snapshot, settle};
use std::collections::BTreeSet;
use std::time::Duration;
use store::{Result, Store, StoreError};

/// The store with a watch on the phases.
struct Eyes<'a> {
    store: &'a mut dyn Store,
    mine: Option<BTreeSet<DispatchGroup>>,
    watch: Stopwatch,
    laps: [Duration; PIPELINE.len()],
}

impl Snapshot for Eyes<'_> {
    type Error = StoreError;
    fn step(&mut self, id: StepId) -> Result<Option<Step>> {
        self.store.step(id)
    }
    /// A block that is decided elsewhere is nobody's to look at here.
    fn block(&mut self, id: BlockId) -> Result<Option<Block>> {
        Ok(self
            .store
            .block(id)?
            .filter(|block| self.mine.as_ref().is_none_or(|mine| mine.contains(&block.home))))
    }
    fn unsettled(&mut self, block: BlockId, after: Option<(u32, StepId)>, limit: usize) -> Result<Vec<Step>> {
        self.store.unsettled(block, after, limit)
    }
    fn lap(&mut self, phase: usize) {
        self.laps[phase] += self.watch.lap();
    }
}

impl Node {
    /// Steps and workflows, each after the other, until nothing follows from what moved.
    pub(super) fn settle_all(
        &mut self,
        turn: &mut Turn,
        mode: Mode,
        laps: &mut [Duration; PIPELINE.len()],
    ) -> Result<Settled> {
        let mut all = Settled::default();
        for _ in 0..limits::WORKFLOW_ROUNDS_MAX {
            let mine = self.board.mine.clone();
            let mut eyes = Eyes { store: &mut *self.store, mine, watch: Stopwatch::start(), laps: *laps };
            let settled = settle(&mut self.board, &mut eyes, mode)?;
            *laps = eyes.laps;
            all.add(settled);
            // What follows in a workflow is in the commit of the end that it follows from.
            let more = self.advance_workflows(turn, self.board.now)?;
            if all.stopped_at.is_some() || all.unfinished {
                self.follow_ends(turn)?;
                return Ok(all);
            }
            if !more {
                return Ok(all);
            }
        }
        all.unfinished = true;
        Ok(all)
    }

    /// Every end is followed in the turn in which it happened; what that touches is settled in the next.
    pub(super) fn follow_ends(&mut self, turn: &mut Turn) -> Result<()> {
        for _ in 0..limits::WORKFLOW_ROUNDS_MAX {
            if !self.advance_workflows(turn, self.board.now)? {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn record_tick(
        &mut self,
        laps: &[Duration; 8],
        pick: Duration,
        total: Duration,
        capped: &[DispatchGroup],
        now: Timestamp,
    ) {
        let (breaker, groups) = (&self.breaker, &self.group_breakers);
        let off = |g: &DispatchGroup| breaker.is_off(now) || groups.get(g).is_some_and(|b| b.is_off(now));
        let max_per_tick = self.config.max_per_tick;
        let figures = TurnFigures { now, laps, pick, total, capped, max_per_tick, off: &off };
        self.ticks.record(self.board.moves(), &figures);
        for moved in self.board.moves().iter().filter(|m| m.to.is_terminal()) {
            if let Some(at) = self.last_end.get_mut(&moved.dispatch_group) {
                *at = now;
            }
        }
    }
}
