//! The live work a node has in hand: loaded steps and blocks, with this turn's changes folded on top.
//!
//! Why    rules look at memory, not at tables; many moves of one row become one write; and the same type serves the
//!        engine (loading on demand) and the tests (everything in memory). It is dropped whole when a commit fails.

mod away;
mod changes;
mod groups;
mod ids;
mod keep;
mod lines;
mod windows;

pub use away::{Ask, Asked, EndedAway};
pub use changes::{BlockChange, Changes, Moved, StepChange};
pub use groups::HoldChange;
pub use ids::IdMap;
pub use lines::{Held, Lines, Part, Reach, Turned};
pub use windows::{Ready, Wants, Window, WindowKey, Windows};

use crate::{eligible, machine};
use model::{
    Block, BlockId, Detail, DispatchGroup, Effect, Event, IllegalMove, Move, Name, Place, Priority,
    SessionId, State, Step, StepId, StepKind, SweepKind, Timestamp, limits,
};
use std::collections::{BTreeSet, HashMap};

/// Failed children named in a parent's error.
const BLAME_MAX: usize = 5;

struct StepEntry {
    step: Step,
    change: Option<Box<StepChange>>,
    /// Turns that changed it and are not committed yet.
    pins: u32,
}

struct BlockEntry {
    block: Block,
    before: Option<Box<BlockChange>>,
    pins: u32,
}

/// Steps at an index of a block that may run now and must be brought in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opened {
    pub block: BlockId,
    pub kind: StepKind,
    pub index: u32,
}

#[derive(Default)]
pub struct Board {
    pub now: Timestamp,
    /// The dispatch groups that are decided here; all of them, if none are named.
    pub mine: Option<BTreeSet<DispatchGroup>>,
    steps: IdMap<StepId, StepEntry>,
    blocks: IdMap<BlockId, BlockEntry>,
    /// Children in hand that have not ended, in block order.
    kin: IdMap<BlockId, BTreeSet<(u32, StepId)>>,
    pub windows: Windows,
    pub lines: Lines,
    touched: BTreeSet<BlockId>,
    /// Steps that came back to Pending since the last look.
    returned: Vec<StepId>,
    opened: Vec<Opened>,
    step_order: Vec<StepId>,
    block_order: Vec<BlockId>,
    moves: Vec<Moved>,
    group_holds: Vec<HoldChange>,
    asks: Vec<Ask>,
    ended_away: Vec<EndedAway>,
    /// Steps that ended and whose workflow goes on because of it, and steps that came back to be done again.
    ended_in_workflows: Vec<StepId>,
    returned_in_workflows: Vec<StepId>,
    /// Steps in hand that other nodes decide about.
    guests: Vec<StepId>,
    /// Blocks whose sweep has done what it can here: its kind, and above which index.
    waits_for_others: HashMap<BlockId, (SweepKind, u32)>,
    /// An open block was let go; only the disk knows them all.
    pub forgot_blocks: bool,
}

impl Board {
    pub fn at(now: Timestamp) -> Board {
        Board { now, ..Board::default() }
    }
    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.get(&id).map(|e| &e.step)
    }
    pub fn block(&self, id: BlockId) -> Option<&Block> {
        self.blocks.get(&id).map(|e| &e.block)
    }
    /// Children in hand that have not ended, by index and id.
    pub fn children(&self, block: BlockId) -> impl Iterator<Item = &Step> {
        self.kin.get(&block).into_iter().flatten().filter_map(|(_, id)| self.step(*id))
    }
    pub fn n_children(&self, block: BlockId) -> usize {
        self.kin.get(&block).map_or(0, BTreeSet::len)
    }
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.values().map(|e| &e.step)
    }

    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.values().map(|e| &e.block)
    }

    /// Steps that changed in this turn.
    pub fn changed(&self) -> impl Iterator<Item = StepId> {
        self.step_order.iter().copied()
    }

    /// Bring in a row as the store has it; what is already in hand is newer and stays.
    pub fn load_step(&mut self, step: Step) {
        let id = step.id;
        // Nodes agree on the time only almost: what is decided about a row is not before what the row says.
        let latest = step.latest();
        if latest <= self.now + limits::CLOCK_SKEW_MAX {
            self.now = self.now.max(latest);
        }
        if !self.steps.contains_key(&id) {
            self.adopt(step, None);
        }
        self.refresh_window(id);
    }
    pub fn load_block(&mut self, block: Block) {
        if self.blocks.contains_key(&block.id) {
            return;
        }
        let lags = |kind| {
            block.index_now(kind)
                != if kind == StepKind::Default { block.current_index } else { block.resolver_index }
        };
        if block.touched || lags(StepKind::Default) || lags(StepKind::Resolver) {
            self.touched.insert(block.id);
        }
        self.blocks.insert(block.id, BlockEntry { block, before: None, pins: 0 });
    }

    /// A new step, in the same commit as everything else of this turn.
    pub fn insert_step(&mut self, step: Step, detail: Detail) {
        let id = step.id;
        self.moves.push(Moved::created(&step));
        if let Some(place) = step.place {
            self.count(place, step.kind, None, Some(step.state));
        }
        if let Some(child_block) = step.child_block {
            self.touched.insert(child_block);
        }
        self.adopt(step, Some(Box::new(StepChange { before: None, detail })));
        self.step_order.push(id);
        self.refresh_window(id);
    }
    pub fn insert_block(&mut self, block: Block) {
        let id = block.id;
        self.touched.insert(id);
        self.blocks
            .insert(id, BlockEntry { block, before: Some(Box::new(BlockChange { before: None })), pins: 0 });
        self.block_order.push(id);
    }

    fn adopt(&mut self, step: Step, change: Option<Box<StepChange>>) {
        if let Some(place) = step.place
            && !step.state.is_terminal()
        {
            self.kin.entry(place.block).or_default().insert((place.index, step.id));
        }
        if step.state == State::Pending && (step.failed_attempts | step.lost_attempts) > 0 {
            self.returned.push(step.id);
        }
        if self.is_elsewhere(&step) {
            self.guests.push(step.id);
        }
        self.steps.insert(step.id, StepEntry { step, change, pins: 0 });
    }

    pub fn apply(&mut self, effect: Effect) -> Result<u32, IllegalMove> {
        match effect {
            Effect::MoveStep(wanted) => return self.fire(*wanted).map(|()| 1),
            Effect::Park { step, detail } => self.park(step, *detail),
            Effect::RaisePriority { step } => self.edit(step, |s, _| s.priority = Priority::High),
            Effect::RecordLate { step } => {
                self.edit(step, |_, d| d.late_reports = Some(d.late_reports.unwrap_or(0) + 1))
            }
            Effect::StartSweep { block, sweep } if self.waits_for_others(block, &sweep) => {}
            Effect::StartSweep { block, sweep } => {
                self.edit_block(block, |b| {
                    b.sweep = Some(sweep);
                    if sweep.event == Event::Promoted {
                        // A resolver that a person retried may have run already, and those before it only wake now.
                        b.resolver_index = 0;
                    }
                });
                self.refresh_children(block);
            }
            Effect::AdvanceSweep { block, after } => self.edit_block(block, |b| {
                if let Some(sweep) = &mut b.sweep {
                    sweep.after = Some(after);
                }
            }),
            Effect::EndSweep { block } => {
                self.note_others(block);
                self.edit_block(block, |b| b.sweep = None);
                self.refresh_children(block);
            }
            Effect::OpenIndex { block, index } => self.open(block, StepKind::Default, index),
            Effect::OpenResolverIndex { block, index } => self.open(block, StepKind::Resolver, index),
            Effect::ResolversWoken { block } => self.edit_block(block, |b| b.wants_resolvers = false),
        }
        Ok(0)
    }

    fn open(&mut self, block: BlockId, kind: StepKind, index: u32) {
        // The index follows from the counts, so opening it alone is not worth a write.
        if let Some(entry) = self.blocks.get_mut(&block) {
            match kind {
                StepKind::Default => entry.block.current_index = index,
                StepKind::Resolver => entry.block.resolver_index = index,
            }
        }
        self.touched.insert(block);
        self.opened.push(Opened { block, kind, index });
        self.refresh_children(block);
    }

    /// Move one step; the machine has the word on where it goes.
    fn fire(&mut self, wanted: Move) -> Result<(), IllegalMove> {
        let now = self.now;
        let Move { step: id, event, reason, wake_at, look, polled, detail } = wanted;
        let entry = self.steps.get(&id).expect("a rule moves only a step it was shown");
        let from = entry.step.state;
        let to = machine::next(from, event)?;
        if self.is_elsewhere(&entry.step) {
            self.follow(id, (from, to), event, detail.superseded_by);
            return Ok(());
        }
        self.edit(id, |step, change| {
            settle_fields(step, from, to, event, now);
            step.state = to;
            step.reason = reason.or_else(|| machine::reason(event));
            // A woken resolver keeps the due time it was created with.
            if event != Event::Promoted && (to == State::Pending || to == State::Polling) {
                step.wake_at = wake_at;
            }
            if look.is_some() {
                step.look = look;
            }
            if polled.is_some() {
                step.polls += 1;
                step.polled = polled;
            }
            change.merge(detail);
        });
        let step = &self.steps[&id].step;
        self.moves.push(Moved::of(step, from, event, self.now));
        let (place, child_block) = (step.place, step.child_block);
        if let Some(place) = place {
            let kind = step.kind;
            if self.blocks.contains_key(&place.block) {
                self.count(place, kind, Some(from), Some(to));
                self.mark_block(place, (id, kind, to), event);
            } else if to.is_terminal() && event != Event::Superseded {
                self.ended_away.push(EndedAway { step: id, place, kind, to, event });
            }
            if to.is_terminal()
                && let Some(kin) = self.kin.get_mut(&place.block)
            {
                kin.remove(&(place.index, id));
            }
        }
        if to == State::Pending {
            self.returned.push(id);
        }
        if self.steps[&id].step.in_workflow.is_some() {
            match to {
                State::Pending | State::Polling => self.returned_in_workflows.push(id),
                _ if to.is_terminal() && event != Event::Superseded => self.ended_in_workflows.push(id),
                _ => {}
            }
        }
        self.mark_group(id, to, event);
        if let Some(child_block) = child_block
            && to.is_terminal()
        {
            self.touched.insert(child_block);
        }
        self.refresh_window(id);
        Ok(())
    }

    /// Give a step to a session: dispatched and started in one write.
    pub fn claim(
        &mut self,
        id: StepId,
        session: SessionId,
        host: Name,
        tick: i64,
    ) -> Result<(), IllegalMove> {
        self.queue(id, tick)?;
        self.begin(id, session, host)
    }

    /// Dispatch a step in the hands of nobody: a session begins it at once, or whoever the queue outside sends.
    pub fn queue(&mut self, id: StepId, tick: i64) -> Result<(), IllegalMove> {
        self.fire(Move::new(id, Event::Dispatched))?;
        self.edit(id, |step, _| {
            step.attempt += 1;
            step.session = Some(SessionId::OUTBOX);
            step.tick = Some(tick);
        });
        Ok(())
    }

    /// A dispatched step starts in the hands of a session.
    pub fn begin(&mut self, id: StepId, session: SessionId, host: Name) -> Result<(), IllegalMove> {
        self.fire(Move::new(id, Event::Started))?;
        self.edit(id, |step, _| {
            step.session = Some(session);
            step.host = Some(host);
        });
        Ok(())
    }

    fn park(&mut self, id: StepId, detail: Detail) {
        self.edit(id, |step, change| {
            step.parked = true;
            step.session = None;
            change.merge(detail);
        });
        if let Some(block) = self.steps[&id].step.child_block {
            self.touched.insert(block);
        }
        self.refresh_window(id);
    }

    /// Steps of workflows that ended since the last look, in the order of their ends.
    pub fn take_ended_in_workflows(&mut self) -> Vec<StepId> {
        std::mem::take(&mut self.ended_in_workflows)
    }

    pub fn take_returned_in_workflows(&mut self) -> Vec<StepId> {
        std::mem::take(&mut self.returned_in_workflows)
    }
    /// What followed from the end of this step was done.
    pub fn unlist_ended(&mut self, id: StepId) {
        if self.ended_in_workflows.last() == Some(&id) {
            self.ended_in_workflows.pop();
        }
    }

    /// What this turn adds to the row of a step that people read.
    pub fn said(&self, id: StepId) -> Option<&Detail> {
        self.steps.get(&id)?.change.as_ref().map(|change| &change.detail)
    }

    /// A step becomes the owner of a block it did not have before.
    pub fn set_child_block(&mut self, id: StepId, block: BlockId) {
        self.edit(id, |step, _| step.child_block = Some(block));
    }

    fn count(&mut self, place: Place, kind: StepKind, from: Option<State>, to: Option<State>) {
        let Place { block, index } = place;
        if from.is_some_and(State::is_hot) && to.is_some_and(State::is_hot) {
            return;
        }
        self.edit_block(block, |b| {
            if let Some(from) = from {
                let count = b.counts_mut(kind).of_mut(from);
                *count = count.saturating_sub(1);
                if from.is_hot() {
                    let live = b.live_mut(kind, index);
                    *live = live.saturating_sub(1);
                }
            }
            if let Some(to) = to {
                *b.counts_mut(kind).of_mut(to) += 1;
                // Touch the slot also for a dormant step: the list's length is the highest index.
                *b.live_mut(kind, index) += u32::from(to.is_hot());
            }
        });
    }

    /// What a child's end means for its block.
    fn mark_block(&mut self, place: Place, (id, kind, state): (StepId, StepKind, State), event: Event) {
        let Place { block, index } = place;
        let resolver = kind == StepKind::Resolver;
        let of_itself =
            !matches!(event, Event::ParentFailed | Event::ParentCancelled | Event::PredecessorFailed);
        let failed = state.is_failed();
        let broken = failed || state == State::Cancelled;
        if !broken && event != Event::Resolved {
            return;
        }
        self.edit_block(block, |b| {
            if broken && of_itself {
                let cut = if resolver { &mut b.resolver_cut_at } else { &mut b.cut_at };
                *cut = Some(cut.map_or(index, |at| at.min(index)));
            }
            if (failed && of_itself && !resolver) || event == Event::Resolved {
                b.wants_resolvers = true;
            }
            if failed && of_itself && b.blame.len() < BLAME_MAX {
                b.blame.push(id);
            }
        });
    }

    pub fn edit(&mut self, id: StepId, change: impl FnOnce(&mut Step, &mut Detail)) {
        let entry = self.steps.get_mut(&id).expect("only a step in hand is changed");
        let log = entry.change.get_or_insert_with(|| {
            self.step_order.push(id);
            Box::new(StepChange { before: Some(entry.step.clone()), detail: Detail::default() })
        });
        change(&mut entry.step, &mut log.detail);
    }

    pub fn edit_block(&mut self, id: BlockId, change: impl FnOnce(&mut Block)) {
        let entry = self.blocks.get_mut(&id).expect("only a block in hand is changed");
        if entry.before.is_none() {
            entry.before = Some(Box::new(BlockChange { before: Some(entry.block.clone()) }));
            self.block_order.push(id);
        }
        change(&mut entry.block);
        self.touched.insert(id);
    }

    /// Put every child in hand where the pick finds it, or take it away from there.
    pub fn refresh_children(&mut self, block: BlockId) {
        let ids: Vec<StepId> = self.kin.get(&block).into_iter().flatten().map(|(_, id)| *id).collect();
        for id in ids {
            self.refresh_window(id);
        }
    }

    /// Put every step in hand where the pick finds it.
    pub fn refresh_all(&mut self) {
        let ids: Vec<StepId> = self.steps.keys().copied().collect();
        ids.into_iter().for_each(|id| self.refresh_window(id));
    }

    /// Put a step where the pick finds it, or take it away from there.
    pub fn refresh_window(&mut self, id: StepId) {
        let Some(entry) = self.steps.get(&id) else { return };
        if self.is_elsewhere(&entry.step) {
            return;
        }
        let block = entry.step.place.and_then(|p| self.blocks.get(&p.block)).map(|e| &e.block);
        let ready = match (entry.step.place, block, entry.step.line()) {
            // Whoever decides for its block has said when its turn came.
            (Some(_), None, Some(member)) => {
                member.joined && eligible::waits(&entry.step) && entry.step.is_due(self.now)
            }
            _ => eligible::is_ready(&entry.step, block, self.now),
        };
        if entry.step.line().is_some() {
            self.refresh_line(id, ready);
        } else {
            self.windows.set(&entry.step, ready);
        }
    }

    pub fn touch(&mut self, block: BlockId) {
        self.touched.insert(block);
    }
    /// Let the row say whether the block must be looked at again, when it says otherwise.
    pub(crate) fn mark_touched(&mut self, id: BlockId) {
        let touched = self.touched.contains(&id);
        if self.block(id).is_some_and(|b| b.touched != touched) {
            self.edit_block(id, |_| {});
            if !touched {
                self.touched.remove(&id);
            }
        }
    }
    pub(crate) fn take_touched(&mut self) -> BTreeSet<BlockId> {
        std::mem::take(&mut self.touched)
    }
    pub(crate) fn touched(&self) -> &BTreeSet<BlockId> {
        &self.touched
    }
    pub(crate) fn take_returned(&mut self) -> Vec<StepId> {
        std::mem::take(&mut self.returned)
    }
    /// Not looked at by every phase yet: the next turn does.
    pub(crate) fn put_back_returned(&mut self, ids: Vec<StepId>) {
        self.returned.splice(0..0, ids);
    }
    /// Some block has not come to rest.
    pub fn is_touched(&self) -> bool {
        !self.touched.is_empty()
    }
    /// Moves of this turn so far.
    pub fn moves(&self) -> &[Moved] {
        &self.moves
    }
    /// Leave a new step on disk; it is brought in when its turn comes.
    pub fn keep_on_disk(&mut self, id: StepId) {
        if let Some(entry) = self.steps.get(&id) {
            self.windows.set(&entry.step, false);
        }
    }
    /// Indexes opened since the last call, whose steps must be brought in.
    pub fn take_opened(&mut self) -> Vec<Opened> {
        std::mem::take(&mut self.opened)
    }

    /// Everything this turn changed; the board goes on from there, and keeps the rows until `committed`.
    pub fn take_changes(&mut self) -> Changes {
        let mut changes = Changes {
            moves: std::mem::take(&mut self.moves),
            steps: Vec::with_capacity(self.step_order.len()),
            blocks: Vec::with_capacity(self.block_order.len()),
        };
        for id in std::mem::take(&mut self.step_order) {
            let entry = self.steps.get_mut(&id).expect("a changed step is in hand");
            let change = entry.change.take().expect("it is listed because it changed");
            entry.pins += 1;
            changes.steps.push((entry.step.clone(), *change));
        }
        for id in std::mem::take(&mut self.block_order) {
            let touched = self.touched.contains(&id);
            let entry = self.blocks.get_mut(&id).expect("a changed block is in hand");
            let before = entry.before.take().expect("it is listed because it changed");
            entry.block.touched = touched;
            entry.pins += 1;
            changes.blocks.push((entry.block.clone(), *before));
        }
        changes
    }
}

/// The facts that follow from a move, whatever caused it.
fn settle_fields(step: &mut Step, from: State, to: State, event: Event, now: Timestamp) {
    match to {
        State::Pending => {
            if from != State::NotRunnable {
                step.session = None;
                step.host = None;
                step.parked = false;
                step.dispatched_at = None;
                step.started_at = None;
            }
            match event {
                Event::Retried => step.failed_attempts += 1,
                Event::LeaseLost => step.lost_attempts += 1,
                _ => {}
            }
            step.throttled = event == Event::Throttled;
        }
        State::Dispatched => {
            step.dispatched_at = Some(now);
            step.throttled = false;
            step.wake_at = None;
        }
        State::Running => {
            step.started_at = Some(now);
            step.wake_at = None;
            step.throttled = false;
        }
        State::Polling => {
            step.session = None;
            // The next poll is work of its own: it has all its attempts, and nothing is left to look at.
            (step.failed_attempts, step.lost_attempts) = (0, 0);
            step.look = None;
        }
        State::NotRunnable => {}
        _ => {
            if to != State::Superseded {
                step.completed_at = Some(now);
            }
            match event {
                Event::Exhausted if from == State::Running => step.failed_attempts += 1,
                Event::Failed | Event::Stopped => step.failed_attempts += 1,
                Event::TimedOut if step.session.is_some() => step.failed_attempts += 1,
                Event::LostTooOften => step.lost_attempts += u32::from(from != State::Pending),
                _ => {}
            }
            step.session = None;
            step.parked = false;
            step.throttled = false;
            step.wake_at = None;
        }
    }
}
