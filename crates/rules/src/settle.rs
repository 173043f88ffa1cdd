//! Runs the phases over what was touched until nothing changes, within a bound.
//!
//! Why    the specs end a tick at the first phase that did work, to keep cascades from racing; a single decider and a
//!        fixed point give the same guarantee without starving the dispatch. `Mode::EarlyReturn` is the literal
//!        reading, for the acceptance matrices and for `dispatch --once --early-return`.

use crate::board::Board;
use crate::dispatcher::{PIPELINE, Reach, View, advance, sweep};
use model::{Block, BlockId, Effect, IllegalMove, Step, StepId, limits};
use std::collections::BTreeSet;

/// What settling may read beyond what the board has in hand.
pub trait Snapshot {
    type Error;
    fn step(&mut self, id: StepId) -> Result<Option<Step>, Self::Error>;
    fn block(&mut self, id: BlockId) -> Result<Option<Block>, Self::Error>;
    /// Children that have not ended, in order of index and id, behind a cursor.
    fn unsettled(
        &mut self,
        block: BlockId,
        after: Option<(u32, StepId)>,
        limit: usize,
    ) -> Result<Vec<Step>, Self::Error>;
    /// A phase of the pipeline is over; whoever keeps time may note it.
    fn lap(&mut self, _phase: usize) {}
}

/// A snapshot with nothing behind it: the board holds everything.
pub struct InHand;

impl Snapshot for InHand {
    type Error = std::convert::Infallible;
    fn step(&mut self, _: StepId) -> Result<Option<Step>, Self::Error> {
        Ok(None)
    }
    fn block(&mut self, _: BlockId) -> Result<Option<Block>, Self::Error> {
        Ok(None)
    }
    fn unsettled(
        &mut self,
        _: BlockId,
        _: Option<(u32, StepId)>,
        _: usize,
    ) -> Result<Vec<Step>, Self::Error> {
        Ok(Vec::new())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    #[default]
    FixedPoint,
    /// The first phase that moved a step ends the tick.
    EarlyReturn,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settled {
    /// Transitions that really happened, per phase of the pipeline.
    pub moved: [u32; PIPELINE.len()],
    /// The phase that ended the tick early.
    pub stopped_at: Option<usize>,
    /// Moves the machine refused; each is a defect to be told, none stops the turn.
    pub refused: Vec<(StepId, IllegalMove)>,
    pub rounds: usize,
    /// The bound was reached; the rest stays touched for the next turn.
    pub unfinished: bool,
}

impl Settled {
    /// What another settling of the same turn did.
    pub fn add(&mut self, more: Settled) {
        self.moved.iter_mut().zip(more.moved).for_each(|(n, m)| *n += m);
        self.stopped_at = more.stopped_at;
        self.refused.extend(more.refused);
        self.rounds += more.rounds;
        self.unfinished = more.unfinished;
    }
    pub fn total(&self) -> u32 {
        self.moved.iter().sum()
    }
}

pub fn settle<S: Snapshot + ?Sized>(
    board: &mut Board,
    snapshot: &mut S,
    mode: Mode,
) -> Result<Settled, S::Error> {
    let (mut swept, mut looked_at) = (BTreeSet::new(), BTreeSet::new());
    let out = rounds(board, snapshot, mode, &mut swept, &mut looked_at)?;
    // A sweep has one page a turn; the next turn must find the block again.
    for id in swept {
        if board.block(id).is_some_and(|b| b.sweep.is_some()) {
            board.touch(id);
        }
    }
    leave(board, snapshot, looked_at)?;
    Ok(out)
}

/// What is left for the next turn may be looked at by another process: the row of each block says so.
pub fn leave<S: Snapshot + ?Sized>(
    board: &mut Board,
    snapshot: &mut S,
    mut blocks: BTreeSet<BlockId>,
) -> Result<(), S::Error> {
    blocks.extend(board.touched());
    for id in blocks {
        load_summary(board, snapshot, id)?;
        board.mark_touched(id);
    }
    Ok(())
}

fn rounds<S: Snapshot + ?Sized>(
    board: &mut Board,
    snapshot: &mut S,
    mode: Mode,
    swept: &mut BTreeSet<BlockId>,
    looked_at: &mut BTreeSet<BlockId>,
) -> Result<Settled, S::Error> {
    let mut out = Settled::default();
    let mut returned = board.take_returned();
    loop {
        out.rounds += 1;
        let blocks = board.take_touched();
        if blocks.is_empty() && returned.is_empty() {
            return Ok(out);
        }
        for id in &blocks {
            load(board, snapshot, *id)?;
        }
        looked_at.extend(&blocks);
        let mut moved = 0;
        for n in 0..PIPELINE.len() {
            let count = run_phase(board, snapshot, n, &blocks, &returned, swept, &mut out)?;
            out.moved[n] += count;
            snapshot.lap(n);
            moved += count;
            if count > 0 && mode == Mode::EarlyReturn {
                out.stopped_at = Some(n);
                blocks.iter().for_each(|id| board.touch(*id));
                board.put_back_returned(returned);
                return Ok(out);
            }
        }
        open_indexes(board, &blocks);
        returned = board.take_returned();
        // Nothing moved: what is still touched was only opened, or is a sweep that waits for its next page.
        let waiting: BTreeSet<BlockId> =
            board.touched().iter().filter(|id| !swept.contains(*id)).copied().collect();
        if moved == 0 && waiting.is_empty() && returned.is_empty() {
            board.take_touched();
            return Ok(out);
        }
        if out.rounds >= limits::SETTLE_ROUNDS_MAX || out.total() as usize >= limits::MOVES_PER_TURN {
            out.unfinished = true;
            board.put_back_returned(returned);
            return Ok(out);
        }
    }
}

fn load<S: Snapshot + ?Sized>(board: &mut Board, snapshot: &mut S, id: BlockId) -> Result<(), S::Error> {
    if board.block(id).is_none()
        && let Some(block) = snapshot.block(id)?
    {
        board.load_block(block);
    }
    if let Some(owner) = board.block(id).and_then(|b| b.owner)
        && board.step(owner).is_none()
        && let Some(step) = snapshot.step(owner)?
    {
        if let Some(place) = step.place {
            load_summary(board, snapshot, place.block)?;
        }
        board.load_step(step);
    }
    Ok(())
}

/// A step is only moved with its block in hand: the move counts there.
pub fn load_summary<S: Snapshot + ?Sized>(
    board: &mut Board,
    snapshot: &mut S,
    id: BlockId,
) -> Result<(), S::Error> {
    if board.block(id).is_none()
        && let Some(block) = snapshot.block(id)?
    {
        board.load_block(block);
    }
    Ok(())
}

fn run_phase<S: Snapshot + ?Sized>(
    board: &mut Board,
    snapshot: &mut S,
    n: usize,
    blocks: &BTreeSet<BlockId>,
    returned: &[StepId],
    swept: &mut BTreeSet<BlockId>,
    out: &mut Settled,
) -> Result<u32, S::Error> {
    let phase = &PIPELINE[n];
    let mut moved = 0;
    let mut queue: Vec<BlockId> = blocks.iter().copied().collect();
    let mut seen = if phase.reach == Reach::Subtree { blocks.clone() } else { BTreeSet::new() };
    let mut i = 0;
    while i < queue.len() {
        let id = queue[i];
        i += 1;
        if i > blocks.len() {
            load(board, snapshot, id)?;
        }
        let Some(block) = board.block(id) else { continue };
        let owner = block.owner.and_then(|o| board.step(o));
        let view = View { block: Some(block), owner, touched: Vec::new() };
        let mut effects = (phase.decide)(&view);
        // Below what this phase cancelled, the children fall with it.
        if effects.is_empty() && phase.reach == Reach::Subtree && i > blocks.len() && n > 0 {
            effects = (PIPELINE[1].decide)(&view);
        }
        for effect in effects {
            moved += apply(board, effect, out);
        }
        let page = sweep_page(board, snapshot, id, phase.sweeps, swept, i > blocks.len(), out)?;
        moved += page;
        if page > 0 && phase.reach == Reach::Subtree {
            queue.extend(board.touched().iter().filter(|b| seen.insert(**b)));
        }
    }
    if phase.sweeps.is_none() {
        let touched: Vec<&Step> = returned.iter().filter_map(|id| board.step(*id)).collect();
        for effect in (phase.decide)(&View { block: None, owner: None, touched }) {
            moved += apply(board, effect, out);
        }
    }
    Ok(moved)
}

fn apply(board: &mut Board, effect: Effect, out: &mut Settled) -> u32 {
    let step = match &effect {
        Effect::MoveStep(wanted) => Some(wanted.step),
        _ => None,
    };
    board.apply(effect).unwrap_or_else(|refused| {
        out.refused.push((step.expect("only a move is refused"), refused));
        0
    })
}

/// One page of the block's sweep per turn, told under the phase that started it.
fn sweep_page<S: Snapshot + ?Sized>(
    board: &mut Board,
    snapshot: &mut S,
    id: BlockId,
    sweeps: Option<model::Event>,
    swept: &mut BTreeSet<BlockId>,
    below: bool,
    out: &mut Settled,
) -> Result<u32, S::Error> {
    let Some(current) = board.block(id).and_then(|b| b.sweep) else { return Ok(0) };
    let mine = Some(current.event) == sweeps || (below && current.event == model::Event::ParentCancelled);
    if !mine || !swept.insert(id) {
        return Ok(0);
    }
    let block = board.block(id).expect("it was just looked at");
    let in_hand = board.n_children(id) >= block.unsettled() as usize;
    let mut ids: Vec<(u32, StepId)> = if in_hand {
        Vec::new()
    } else {
        let rows = snapshot.unsettled(id, current.after, limits::SWEEP_PAGE)?;
        let ids = rows.iter().map(|s| (s.index(), s.id)).collect();
        rows.into_iter().for_each(|s| board.load_step(s));
        ids
    };
    let full = ids.len() >= limits::SWEEP_PAGE;
    let end = full.then(|| *ids.last().expect("a full page has a last row"));
    ids.extend(
        board
            .children(id)
            .map(|s| (s.index(), s.id))
            .filter(|at| current.after.is_none_or(|after| *at > after) && end.is_none_or(|end| *at <= end)),
    );
    ids.sort_unstable();
    ids.dedup();
    let last = !full && ids.len() <= limits::SWEEP_PAGE;
    ids.truncate(limits::SWEEP_PAGE);
    for (_, step) in &ids {
        let nested = board.step(*step).and_then(|s| s.child_block);
        if let Some(nested) = nested {
            load_summary(board, snapshot, nested)?;
        }
    }
    let page: Vec<&Step> = ids.iter().filter_map(|(_, step)| board.step(*step)).collect();
    let effects = sweep::decide(board.block(id).expect("it is in hand"), &page, last);
    if last {
        swept.remove(&id);
    }
    let mut moved = 0;
    for effect in effects {
        moved += apply(board, effect, out);
    }
    Ok(moved)
}

fn open_indexes(board: &mut Board, blocks: &BTreeSet<BlockId>) {
    for id in blocks {
        let Some(block) = board.block(*id) else { continue };
        let owner = block.owner.and_then(|o| board.step(o));
        for effect in advance(&View { block: Some(block), owner, touched: Vec::new() }) {
            board.apply(effect).expect("opening an index moves no step");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{DispatchGroup, Event, Sweep, SweepKind};

    /// A block that says that it has children and an owner, of which nobody has a row.
    fn hollow(sweep: Option<Sweep>) -> Block {
        let mut block = Block::new(BlockId::of(7), DispatchGroup::new("alpha"));
        (block.owner, block.sweep, block.touched) = (Some(StepId::of(1)), sweep, true);
        (block.steps.hot, block.live) = (2, vec![2]);
        block
    }

    #[test]
    fn what_is_nowhere_moves_nothing_and_stops_nobody() {
        let mut board = Board::default();
        board.touch(BlockId::of(9));
        assert_eq!(settle(&mut board, &mut InHand, Mode::FixedPoint).unwrap().total(), 0, "no such block");
        let event = Event::ParentCancelled;
        let sweep = Sweep { kind: SweepKind::Close, event, above: 0, after: None };
        board.load_block(hollow(Some(sweep)));
        let settled = settle(&mut board, &mut InHand, Mode::FixedPoint).unwrap();
        assert_eq!((settled.total(), settled.refused.len(), settled.unfinished), (0, 0, false));
        assert_eq!(board.block(BlockId::of(7)).unwrap().sweep, None, "its last page was empty");
    }

    #[test]
    fn what_two_rounds_did_is_told_together() {
        let mut first = Settled { rounds: 2, stopped_at: Some(1), ..Settled::default() };
        first.moved[0] = 3;
        let mut second = Settled { rounds: 1, unfinished: true, ..Settled::default() };
        second.moved[0] = 4;
        first.add(second);
        assert_eq!((first.total(), first.rounds, first.stopped_at, first.unfinished), (7, 3, None, true));
    }
}
