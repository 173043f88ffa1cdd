//! Steps that stand in line in one dispatch group and in a block of another: their owners tell each other what they decide.
//!
//! Why    a line has one decider and a block has one decider, and they need not be the same node. The block's owner says when a child's
//!        turn has come and what it falls with; the line's owner runs it and says, once, how it ended: then it counts. When one node has
//!        both, nothing is said and all of it is one commit.

use super::node::{Node, Turn};
use crate::signal::{ENDED, Ended, FOLLOW, Signal};
use model::{
    Block, BlockId, Detail, DispatchGroup, Effect, Event, Move, State, Step, StepId, Timestamp, limits,
};
use rules::board::{Ask, Asked, Changes, EndedAway, Moved, StepChange};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use store::{Result, StoreError, signals};
use tracing::error;

/// A step, and what took its place if something did.
type Followed = (StepId, Option<StepId>);

impl Node {
    /// Bring a block in if it is decided here.
    pub(super) fn bring_block(&mut self, id: BlockId) -> Result<()> {
        if self.board.block(id).is_none()
            && let Some(block) = self.store.block(id)?
            && self.owns(&block.home)
        {
            self.board.load_block(block);
        }
        Ok(())
    }

    /// A new child of a block here whose line is elsewhere: it is stored there, and counts here.
    pub(super) fn insert_away(&mut self, turn: &mut Turn, mut step: Step, detail: Detail) {
        let block = step.block().and_then(|id| self.board.block(id));
        let ready = rules::eligible::is_ready(&step, block, self.board.now);
        if let Some(member) = &mut step.member {
            member.joined = ready;
        }
        self.board.count_child(&step);
        let mut arrived = crate::signal::Arrived::default();
        match step.wake_at {
            Some(at) => arrived.wakes.push((at, step.id)),
            None if ready => arrived.note_line(&step),
            // Its turn may come before it can be read; then it is looked for again.
            None => self.sources.spill(&step, self.turn_number),
        }
        let home = step.dispatch_group.clone();
        self.tell_owner(turn, &home, &Signal::Arrived(arrived));
        let moves = vec![Moved::created(&step)];
        let steps = vec![(step, StepChange { before: None, detail })];
        turn.abroad.push(Changes { steps, blocks: Vec::new(), moves });
    }

    /// Tell other owners what this turn decided about their steps and blocks.
    pub(super) fn tell_away(&mut self, turn: &mut Turn) -> Result<()> {
        let mut joins: BTreeMap<DispatchGroup, Vec<StepId>> = BTreeMap::new();
        let mut follows: BTreeMap<(DispatchGroup, Event), Vec<Followed>> = BTreeMap::new();
        for Ask { step, dispatch_group, what } in self.board.take_asks() {
            match what {
                Asked::Join => joins.entry(dispatch_group).or_default().push(step),
                Asked::Follow { event, superseded_by } => {
                    match self.board.step(step).and_then(Step::block) {
                        _ if event == Event::Superseded => self.peers.replaces(step, self.turn_number),
                        Some(block) => self.peers.fells(block, self.turn_number),
                        None => {}
                    }
                    follows.entry((dispatch_group, event)).or_default().push((step, superseded_by));
                }
            }
        }
        for (home, steps) in joins {
            self.tell_owner(turn, &home, &Signal::Join { steps });
        }
        for ((home, event), steps) in follows {
            self.tell_owner(turn, &home, &Signal::Follow { steps, event });
        }
        self.board.forget_elsewhere();
        let mut ended: BTreeMap<DispatchGroup, Vec<Ended>> = BTreeMap::new();
        for EndedAway { step, place, kind, to, event } in self.board.take_ended_away() {
            let Some(block) = self.store.block(place.block)? else {
                error!(%step, block = %place.block, "a step ended whose block does not exist");
                continue;
            };
            ended.entry(block.home).or_default().push(Ended { step, place, kind, to, event });
        }
        for (home, steps) in ended {
            self.tell_owner(turn, &home, &Signal::Ended { steps });
        }
        Ok(())
    }

    pub(super) fn join_line(&mut self, steps: Vec<StepId>) -> Result<()> {
        for id in steps {
            if self.bring(id)?
                && let Some(step) = self.board.step(id)
                && step.line().is_some_and(|member| !member.joined)
                && !step.state.is_terminal()
            {
                self.board.edit(id, |step, _| step.member.iter_mut().for_each(|member| member.joined = true));
                self.board.refresh_window(id);
            }
        }
        Ok(())
    }

    pub(super) fn follow(&mut self, steps: Vec<(StepId, Option<StepId>)>, event: Event) -> Result<()> {
        for (id, superseded_by) in steps {
            if !self.bring(id)? {
                continue;
            }
            let state = self.board.step(id).map(|step| step.state);
            // One that ended before it heard of it keeps its end, and has told so; what was replaced stays so.
            let is_final = |state: State| match event {
                Event::Superseded => state == State::Superseded,
                _ => state.is_terminal(),
            };
            if state.is_some_and(is_final) {
                continue;
            }
            let detail = Detail { superseded_by, ..Detail::default() };
            let wanted = Move { detail, ..Move::new(id, event) };
            self.board
                .apply(Effect::MoveStep(Box::new(wanted)))
                .map_err(|e| StoreError::Lost { what: e.to_string() })?;
        }
        Ok(())
    }

    pub(super) fn ended_elsewhere(&mut self, steps: Vec<Ended>) -> Result<()> {
        for Ended { step, place, kind, to, event } in steps {
            self.bring_block(place.block)?;
            if let Some(owner) = self.board.block(place.block).and_then(|block| block.owner) {
                self.bring(owner)?;
            }
            self.board.child_ended(&EndedAway { step, place, kind, to, event });
            if let Some(owner) = self.board.block(place.block).and_then(|block| block.owner) {
                self.item_ended_away(owner, step)?;
            }
        }
        Ok(())
    }

    /// Hear how steps of a block ended, as far as rows can say it: an end is written with the word of it, and what is done about the
    /// row comes behind that. Else it would count once more when it is heard.
    pub(super) fn hear_ends(&mut self, turn: &mut Turn, block: BlockId, now: Timestamp) -> Result<()> {
        let home = self.board.block(block).map(|block| block.home.clone());
        let Some(home) = home.filter(|_| self.peers.shared) else { return Ok(()) };
        for row in signals::unheard(self.store.reader(), &home, ENDED)? {
            let of_block = match serde_json::from_str(&row.body) {
                Ok(Signal::Ended { steps }) => steps.iter().any(|ended| ended.place.block == block),
                _ => false,
            };
            if of_block && self.peers.take(row.id, self.turn_number, self.unfit) {
                self.take_signal(turn, row, now)?;
            }
        }
        Ok(())
    }

    /// Others were asked to end steps of a block, and have not heard it.
    pub(super) fn is_falling(&mut self, id: BlockId) -> Result<bool> {
        let may_fall = self.peers.shared && self.board.block(id).is_some_and(Block::is_alive_behind_cut);
        if !may_fall || self.peers.is_falling(id) {
            return Ok(may_fall);
        }
        let mut asked = HashSet::new();
        for group in &self.config.groups {
            for row in signals::unheard(self.store.reader(), group, FOLLOW)? {
                match serde_json::from_str(&row.body) {
                    Ok(Signal::Follow { event: Event::Superseded, .. }) => {}
                    Ok(Signal::Follow { steps, .. }) => asked.extend(steps.into_iter().map(|(step, _)| step)),
                    _ => {}
                }
            }
        }
        let mut after = None;
        while !asked.is_empty() {
            let live = self.store.unsettled(id, after, limits::STEPS_PER_TURN)?;
            if live.iter().any(|step| asked.contains(&step.id)) {
                return Ok(true);
            }
            after = live.last().and_then(|step| step.place.map(|place| (place.index, step.id)));
            if after.is_none() {
                break;
            }
        }
        Ok(false)
    }

    /// Those of steps that others have taken the place of, while the owners of their lines have not heard it and the rows do not say
    /// so. Rows that are read behind this do, or nothing was said.
    pub(super) fn replaced_unheard(&mut self, steps: &[Step]) -> Result<HashSet<StepId>> {
        let mut replaced = HashSet::new();
        if !self.peers.shared {
            return Ok(replaced);
        }
        let lines = steps.iter().filter(|step| step.place.is_some() && step.line().is_some());
        let groups: BTreeSet<&DispatchGroup> = lines.map(|step| &step.dispatch_group).collect();
        for group in groups {
            for row in signals::unheard(self.store.reader(), group, FOLLOW)? {
                if let Ok(Signal::Follow { steps, event: Event::Superseded }) =
                    serde_json::from_str(&row.body)
                {
                    replaced.extend(steps.into_iter().map(|(step, _)| step));
                }
            }
        }
        replaced.extend(steps.iter().map(|step| step.id).filter(|id| self.peers.is_replaced(*id)));
        Ok(replaced)
    }
}
