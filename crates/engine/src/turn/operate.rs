//! What people do to single steps: forced moves and retries, fenced, audited, and previewed without a write.

use super::node::{Node, Turn};
use crate::EngineError;
use crate::request::{Operated, Operation, Reply, SeenStep};
use crate::signal::Signal;
use model::{
    Block, BlockId, Counts, Detail, Effect, Event, Move, Place, Reason, State, Step, StepId, Timestamp,
    limits,
};
use rules::board::Board;
use rules::operator;
use rules::settle::{Mode, Snapshot, settle};
use std::collections::BTreeMap;
use store::{AuditEntry, Result, SignalTo, Store, StoreError};

impl Node {
    pub(super) fn operate(
        &mut self,
        turn: &mut Turn,
        operation: Operation,
        reply: Reply<Operated>,
        now: Timestamp,
    ) -> Result<()> {
        let whose = match operation.verb {
            // A retry is the block's to decide: what was cut off behind the step is made anew with it.
            None => self.foreign_block(operation.step)?,
            Some(_) => self.foreign_group(operation.step)?,
        };
        if let Some(group) = whose {
            self.forward(turn, &group, &Signal::Operate { operation }, reply);
            return Ok(());
        }
        if !self.bring(operation.step)? {
            turn.acts.refuse(reply, EngineError::NoStep(operation.step));
            return Ok(());
        }
        let is = self.board.step(operation.step).expect("it was just brought");
        let mut is = SeenStep { version: is.version, attempt: is.attempt };
        if operation.expected.is_some() {
            // What was moved in this turn is written at its end; whoever comes behind that has seen another.
            is.version += u64::from(self.board.moves().iter().any(|moved| moved.step == operation.step));
        }
        if operation.expected.is_some_and(|expected| expected != is) {
            turn.acts.refuse(reply, EngineError::changed(format!("step {}", operation.step), is.version));
            return Ok(());
        }
        if operation.dry_run {
            match self.preview(&operation, now)? {
                Ok(preview) => turn.acts.reply(reply, preview),
                Err(refused) => turn.acts.refuse(reply, refused),
            }
            return Ok(());
        }
        let before = self.board.step(operation.step).expect("it was just brought").state;
        let moves = self.board.moves().len();
        let outcome = match operation.verb {
            Some(verb) => self.force(&operation, verb)?,
            None => self.retry(turn, &operation, now)?,
        };
        let replaced_by = match outcome {
            Ok(replaced_by) => replaced_by,
            Err(refused) => {
                turn.acts.refuse(reply, refused);
                return Ok(());
            }
        };
        let after = self.board.step(operation.step).expect("it is in hand").state;
        turn.audit.push(AuditEntry {
            who: operation.by,
            verb: operation.verb.map_or("retry", |v| v.word()).into(),
            target: format!("step {}", operation.step),
            why: Some(operation.why),
            before: Some(before.to_string()),
            after: Some(replaced_by.map_or(after.to_string(), |id| format!("{after}, replaced by {id}"))),
        });
        let moves = self.board.moves()[moves..].iter().map(|m| (m.step, m.from, m.to)).collect();
        let done = Operated { step: operation.step, from: before, to: after, replaced_by, moves };
        turn.acts.reply(reply, done);
        Ok(())
    }

    fn force(
        &mut self,
        operation: &Operation,
        verb: operator::Verb,
    ) -> Result<std::result::Result<Option<StepId>, EngineError>> {
        let step = self.board.step(operation.step).expect("it was brought");
        let children = step.child_block.and_then(|b| self.board.block(b));
        let effect = match operator::decide(step, children, verb, &operation.why) {
            Ok(effect) => effect,
            Err(refused) => return Ok(Err(EngineError::refused(operation.step, refused))),
        };
        self.board.apply(effect).map_err(|e| StoreError::Lost { what: e.to_string() })?;
        Ok(Ok(None))
    }

    /// A new step takes the place of one that failed; steps cut off behind it are made anew with it.
    pub(super) fn retry(
        &mut self,
        turn: &mut Turn,
        operation: &Operation,
        now: Timestamp,
    ) -> Result<std::result::Result<Option<StepId>, EngineError>> {
        let id = operation.step;
        let step = self.board.step(id).expect("it was brought").clone();
        let settles = self.is_settling(turn, &step, now)?;
        let owner = match step.block().and_then(|b| self.board.block(b)).and_then(|b| b.owner) {
            Some(owner) if self.bring(owner)? => self.board.step(owner).cloned(),
            _ => None,
        };
        let children = step.child_block.and_then(|b| self.board.block(b));
        if let Err(refused) = operator::may_retry(&step, owner.as_ref(), children) {
            return Ok(Err(EngineError::refused(id, refused)));
        }
        if settles {
            let why = "its block is still being settled; try again in a moment".to_string();
            return Ok(Err(EngineError::Refused { step: id, why }));
        }
        let mut again = vec![step.clone()];
        if let Some(place) = step.place {
            again.extend(self.cut_off(place)?);
        }
        if again.len() > limits::STEPS_PER_CREATE_MAX {
            let why = format!("more than {} steps were cut off behind it", limits::STEPS_PER_CREATE_MAX);
            return Ok(Err(EngineError::Refused { step: id, why }));
        }
        let again = self.still_in_place(again)?;
        if again.first().is_none_or(|first| first.id != id) {
            let refused = operator::Refusal::NotFailed { state: State::Superseded };
            return Ok(Err(EngineError::refused(id, refused)));
        }
        let mut first = None;
        for old in again {
            let new = self.replace(turn, &old, now)?;
            first = first.or(Some(new));
        }
        if let Some(block) = step.block() {
            self.board.edit_block(block, mend);
        }
        Ok(Ok(first))
    }

    /// What was cut off behind a place, which turns on their way may not have stored yet.
    fn cut_off(&mut self, place: Place) -> Result<Vec<Step>> {
        let stored = self.store.cut_off(place.block, place.index, limits::STEPS_PER_CREATE_MAX)?;
        let is_behind = |p: Place| p.block == place.block && p.index > place.index;
        let is_cut_off = |step: &Step| {
            step.state == State::Cancelled
                && step.reason == Some(Reason::PredecessorFailed)
                && step.place.is_some_and(is_behind)
        };
        // What is in hand is newer than the disk: another retry may have remade it in this very turn.
        let still = |step: &Step| self.board.step(step.id).is_none_or(is_cut_off);
        let unstored = self.outstanding.iter().flat_map(|(_, steps, _)| steps).copied();
        let unstored = unstored.chain(self.board.changed()).filter_map(|id| self.board.step(id));
        let stored = stored.into_iter().filter(still);
        let all = stored.chain(unstored.filter(|step| is_cut_off(step)).cloned());
        let in_order: BTreeMap<(u32, StepId), Step> =
            all.filter_map(|step| step.place.map(|at| ((at.index, step.id), step))).collect();
        Ok(in_order.into_values().collect())
    }

    /// What stands behind a step is being ended, so it is not known yet what is made anew with it. What other nodes ended is heard.
    fn is_settling(&mut self, turn: &mut Turn, step: &Step, now: Timestamp) -> Result<bool> {
        let Some(block) = step.block() else { return Ok(false) };
        // Whoever was asked either has not heard it, or has told by now how it ended.
        let is_falling = self.is_falling(block)?;
        self.hear_ends(turn, block, now)?;
        Ok(is_falling || self.board.block(block).is_some_and(|block| block.sweep.is_some()))
    }

    /// A retry that nobody waits for, and whose time has not come, is written down to be heard again; true if it was.
    pub(super) fn put_off(&mut self, turn: &mut Turn, operation: &Operation, now: Timestamp) -> Result<bool> {
        if operation.verb.is_some() || !self.peers.shared || !self.bring(operation.step)? {
            return Ok(false);
        }
        let step = self.board.step(operation.step).expect("it was just brought").clone();
        let Some(home) = step.block().and_then(|b| self.board.block(b)).map(|b| b.home.clone()) else {
            return Ok(false);
        };
        let waits = self.is_settling(turn, &step, now)? && operator::may_retry(&step, None, None).is_ok();
        if waits {
            // Not with a call: the next look is soon enough.
            self.write_down(turn, SignalTo::Group(home), &Signal::Operate { operation: operation.clone() });
        }
        Ok(waits)
    }

    /// Without those that an earlier retry has replaced, which their rows say once the owners of their lines have heard it.
    fn still_in_place(&mut self, steps: Vec<Step>) -> Result<Vec<Step>> {
        let replaced = self.replaced_unheard(&steps)?;
        let mut still = Vec::with_capacity(steps.len());
        for step in steps.into_iter().filter(|step| !replaced.contains(&step.id)) {
            let elsewhere = self.board.is_elsewhere(&step);
            let now =
                if elsewhere { self.store.step(step.id)?.map(|row| row.state) } else { Some(step.state) };
            if now == Some(step.state) {
                still.push(step);
            }
        }
        Ok(still)
    }

    fn replace(&mut self, turn: &mut Turn, old: &Step, now: Timestamp) -> Result<StepId> {
        self.bring(old.id)?;
        let detail = self.store.detail(old.id)?.unwrap_or_default();
        let new = StepId::from_bytes(self.ids.row(now));
        let wanted = Move {
            detail: Detail { superseded_by: Some(new), ..Detail::default() },
            ..Move::new(old.id, Event::Superseded)
        };
        self.board
            .apply(Effect::MoveStep(Box::new(wanted)))
            .map_err(|e| StoreError::Lost { what: e.to_string() })?;
        let step = Step {
            id: new,
            state: State::Pending,
            reason: None,
            child_block: None,
            wake_at: None,
            attempt: 0,
            failed_attempts: 0,
            lost_attempts: 0,
            polls: 0,
            polled: None,
            look: None,
            session: None,
            host: None,
            tick: None,
            created_at: now,
            dispatched_at: None,
            started_at: None,
            completed_at: None,
            version: 0,
            ..old.clone()
        };
        let detail = Detail {
            step_key: detail.step_key,
            label: detail.label,
            relatable_type: detail.relatable_type,
            relatable_id: detail.relatable_id,
            note: Some(format!("retries {}", old.id)),
            ..Detail::default()
        };
        let number = self.turn_number;
        self.insert(turn, step, detail, number)?;
        Ok(new)
    }

    /// What an operation would do, decided on a copy and thrown away.
    fn preview(
        &mut self,
        operation: &Operation,
        now: Timestamp,
    ) -> Result<std::result::Result<Operated, EngineError>> {
        let mut copy = Board::at(now);
        let mut behind = Behind { board: &self.board, store: &mut *self.store };
        let step = self.board.step(operation.step).expect("it was brought").clone();
        for block in [step.block(), step.child_block].into_iter().flatten() {
            if let Some(block) = behind.block(block)? {
                copy.load_block(block);
            }
        }
        copy.load_step(step.clone());
        let owner = match step.block().and_then(|b| copy.block(b)).and_then(|b| b.owner) {
            Some(owner) => behind.step(owner)?,
            None => None,
        };
        let children = step.child_block.and_then(|b| copy.block(b));
        let effect = match operation.verb {
            Some(verb) => match operator::decide(&step, children, verb, &operation.why) {
                Ok(effect) => effect,
                Err(refused) => return Ok(Err(EngineError::refused(step.id, refused))),
            },
            None => match operator::may_retry(&step, owner.as_ref(), children) {
                Ok(()) => Effect::MoveStep(Box::new(Move::new(step.id, Event::Superseded))),
                Err(refused) => return Ok(Err(EngineError::refused(step.id, refused))),
            },
        };
        copy.apply(effect).map_err(|e| StoreError::Lost { what: e.to_string() })?;
        settle(&mut copy, &mut behind, Mode::FixedPoint)?;
        let to = copy.step(step.id).expect("it is in hand").state;
        let moves = copy.moves().iter().map(|m| (m.step, m.from, m.to)).collect();
        Ok(Ok(Operated { step: step.id, from: step.state, to, replaced_by: None, moves }))
    }
}

/// A block in which nothing is broken any more is whole again, and goes on from its first live step.
fn mend(block: &mut Block) {
    let broken = |c: &Counts| c.failed_set() + c.cancelled > 0;
    if !broken(&block.steps) {
        block.cut_at = None;
        block.blame.clear();
        block.current_index = 0;
    }
    if !broken(&block.resolvers) {
        block.resolver_cut_at = None;
        block.resolver_index = 0;
    }
}

/// What lies behind a copy of the board: the board itself, then the store.
struct Behind<'a> {
    board: &'a Board,
    store: &'a mut dyn Store,
}

impl Snapshot for Behind<'_> {
    type Error = StoreError;
    fn step(&mut self, id: StepId) -> Result<Option<Step>> {
        match self.board.step(id) {
            Some(step) => Ok(Some(step.clone())),
            None => self.store.step(id),
        }
    }
    fn block(&mut self, id: BlockId) -> Result<Option<Block>> {
        match self.board.block(id) {
            Some(block) => Ok(Some(block.clone())),
            None => self.store.block(id),
        }
    }
    fn unsettled(&mut self, block: BlockId, after: Option<(u32, StepId)>, limit: usize) -> Result<Vec<Step>> {
        let rows = self.store.unsettled(block, after, limit)?;
        Ok(rows.into_iter().map(|s| self.board.step(s.id).cloned().unwrap_or(s)).collect())
    }
}
