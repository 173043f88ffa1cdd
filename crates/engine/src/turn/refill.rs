//! Brings ready steps from disk into the windows, as far as some session wants them and there is room.
//!
//! Why    a backlog of a million steps stays on disk; what is read once is read behind a cursor and not again. What waits for a pool
//!        has a cursor of its own and little room, so that a full pool holds up nobody else.

use super::lines::LineSources;
use model::{BlockId, DispatchGroup, Name, Priority, Step, StepId, StepKind, Timestamp, limits};
use rules::board::{Board, Opened};
use rules::settle::load_summary;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use store::{Result, Sort, Store, pools};

/// Ready roots of one sort.
#[derive(Default)]
struct Roots {
    after: Option<StepId>,
    /// Nothing is left behind the cursor.
    empty: bool,
    /// The last turn that left a new step on disk here.
    spilled_in: u64,
    /// By turn, the oldest step that it left on disk here: once it is durable, the cursor steps back to it.
    back: BTreeMap<u64, StepId>,
}

impl Roots {
    /// Another node's steps may stand behind this one and be read before it can be seen.
    fn step_back(&mut self, id: StepId, turn: u64) {
        self.back.entry(turn).and_modify(|oldest| *oldest = id.min(*oldest)).or_insert(id);
    }
    fn see(&mut self, durable: u64) {
        while let Some(first) = self.back.first_entry()
            && *first.key() <= durable
        {
            let oldest = first.remove();
            let before = StepId::from_bytes((u128::from_be_bytes(*oldest.bytes()) - 1).to_be_bytes());
            self.after = self.after.map(|after| after.min(before));
            self.empty = false;
        }
    }
}

/// Ready steps of one index of a block.
#[derive(Clone)]
struct Opening {
    opened: Opened,
    after: Option<StepId>,
    /// The last turn that left a step on disk here.
    spilled_in: u64,
    /// Not worth a look before this turn is durable.
    not_before: u64,
    /// A step whose pool has as many in hand as it may.
    behind: Option<Sort>,
}

#[derive(Default)]
pub struct Sources {
    /// What is done in order.
    pub lines: LineSources,
    roots: BTreeMap<Sort, Roots>,
    /// What waits for a pool on disk is known: a sort that is not in `roots` has nothing there.
    knows_pooled: bool,
    /// So are the queues of what waits for none.
    knows_queues: bool,
    openings: VecDeque<Opening>,
    /// Due steps whose pool has as many in hand as it may.
    late: BTreeMap<Sort, BTreeSet<(Timestamp, StepId)>>,
    n_late: usize,
}

fn sort_of(step: &Step) -> Sort {
    Sort {
        dispatch_group: step.dispatch_group.clone(),
        queue: step.queue.clone(),
        priority: step.priority,
        pool: step.pool.clone(),
    }
}

/// Whether another step of this sort may be held in hand.
fn has_room(board: &Board, sort: &Sort) -> bool {
    match &sort.pool {
        None => board.windows.len() < limits::WINDOW_STEPS_MAX,
        Some(_) => waiting(board, sort) < limits::POOL_WINDOW,
    }
}
/// The same for a step of a block: it may be followed by others that need no pool, or another one.
fn has_room_in_block(board: &Board, sort: &Sort) -> bool {
    sort.pool.is_none() || waiting(board, sort) < limits::POOL_WINDOW_IN_BLOCKS
}
fn waiting(board: &Board, sort: &Sort) -> usize {
    let Sort { dispatch_group, queue, priority, pool } = sort;
    match pool {
        None => board.windows.waiting(dispatch_group, queue),
        Some(pool) => board.windows.waiting_in(dispatch_group, queue, pool, *priority),
    }
}

impl Sources {
    /// Everything must be looked at again: a new session wants what nobody wanted, or the board was dropped.
    pub fn restart(&mut self) {
        for roots in self.roots.values_mut() {
            let back = std::mem::take(&mut roots.back);
            *roots = Roots { spilled_in: roots.spilled_in, back, ..Roots::default() };
        }
        self.roots
            .retain(|sort, roots| sort.pool.is_none() || !roots.back.is_empty() || roots.spilled_in > 0);
        (self.knows_pooled, self.knows_queues) = (false, false);
        self.lines.restart();
        self.late.clear();
        self.n_late = 0;
        // One that was split for a full pool begins again as one.
        let mut seen = BTreeSet::new();
        self.openings.retain_mut(|opening| {
            (opening.after, opening.behind) = (None, None);
            let Opened { block, kind, index } = opening.opened;
            seen.insert((block, kind, index))
        });
    }

    /// Whether a new root may go straight into its window: only if nothing older waits on disk.
    pub fn admits(&mut self, step: &Step, board: &Board) -> bool {
        let sort = sort_of(step);
        if step.place.is_some() {
            return board.windows.len() < limits::WINDOW_STEPS_MAX && has_room_in_block(board, &sort);
        }
        if !has_room(board, &sort) {
            return false;
        }
        // What was begun goes before what is to begin, wherever that waits.
        match sort.pool {
            None if step.in_workflow.is_some() => true,
            None => self.roots.entry(sort).or_default().empty,
            Some(_) => self.knows_pooled && self.roots.get(&sort).is_none_or(|roots| roots.empty),
        }
    }

    /// A new step stays on disk.
    pub fn spill(&mut self, step: &Step, turn: u64) {
        match step.place {
            None => {
                let roots = self.roots.entry(sort_of(step)).or_default();
                roots.step_back(step.id, turn);
                roots.empty = false;
                roots.spilled_in = turn;
            }
            Some(place) => {
                self.open(Opened { block: place.block, kind: step.kind, index: place.index }, turn)
            }
        }
    }

    /// A step comes back to the disk, perhaps before the cursor: once that is durable, the cursor steps back to it.
    pub fn bring_back(&mut self, step: &Step, turn: u64) {
        match step.place {
            None => {
                self.roots.entry(sort_of(step)).or_default().step_back(step.id, turn);
            }
            Some(place) => {
                let opened = Opened { block: place.block, kind: step.kind, index: place.index };
                let opening = Opening { spilled_in: turn, not_before: turn, ..Opening::of(opened) };
                self.openings.push_back(opening);
            }
        }
    }

    /// Another node stored a ready root here; it can be seen already.
    pub fn arrived(&mut self, sort: Sort, id: StepId) {
        self.roots.entry(sort).or_default().step_back(id, 0);
    }

    /// An index may run; `spilled_in` is the turn that left steps of it on disk, or 0.
    pub fn open(&mut self, opened: Opened, spilled_in: u64) {
        match self.openings.iter_mut().rev().take(64).find(|o| o.opened == opened) {
            Some(known) => known.spilled_in = known.spilled_in.max(spilled_in),
            None => self.openings.push_back(Opening { spilled_in, ..Opening::of(opened) }),
        }
    }

    /// Whether a due step may be held in hand; if not, it is remembered until there is room for its pool.
    pub fn has_room_or_later(&mut self, step: &Step, at: Timestamp, board: &Board) -> bool {
        let sort = sort_of(step);
        let room = has_room_in_block(board, &sort);
        if !room && self.late.entry(sort).or_default().insert((at, step.id)) {
            self.n_late += 1;
        }
        room
    }
    /// More due steps can be remembered.
    pub fn takes_late(&self) -> bool {
        self.n_late < limits::POOL_LATE_MAX
    }
    /// A due step for whose pool there is room again.
    pub fn take_late(&mut self, board: &Board) -> Option<(Timestamp, StepId)> {
        let ready = |late: &(&Sort, &mut BTreeSet<_>)| !late.1.is_empty() && has_room_in_block(board, late.0);
        let (_, late) = self.late.iter_mut().find(ready)?;
        self.n_late -= 1;
        late.pop_first()
    }

    /// Something on disk may be ready that some session takes.
    pub fn is_waiting(&self, board: &Board) -> bool {
        let (wanted, any) = (board.windows.wanted_queues(), board.windows.wants_any_queue());
        let open = |sort: &Sort, r: &Roots| {
            (!r.empty || !r.back.is_empty()) && (any || wanted.contains(&sort.queue))
        };
        let room = |sort: &Sort| sort.pool.is_none() || has_room(board, sort);
        let behind = |o: &Opening| o.behind.as_ref().is_some_and(|sort| !has_room_in_block(board, sort));
        self.lines.is_waiting(board)
            || self.openings.iter().any(|o| !behind(o))
            || self.roots.iter().any(|(s, r)| open(s, r) && room(s))
    }

    /// True when there is more to read at once: a page may hold nothing that anyone takes.
    pub fn refill(
        &mut self,
        board: &mut Board,
        store: &mut dyn Store,
        groups: &[DispatchGroup],
        at: Commits,
    ) -> Result<bool> {
        let mut more = self.refill_openings(board, store, at)?;
        self.lines.refill(board, store, groups)?;
        let queues = self.queues(board, store, groups)?;
        for group in groups {
            for queue in &queues {
                for priority in [Priority::High, Priority::Normal] {
                    let (dispatch_group, queue) = (group.clone(), queue.clone());
                    let sort = Sort { dispatch_group, queue, priority, pool: None };
                    more |= self.refill_roots(board, store, &sort, at)?;
                }
            }
        }
        Ok(self.refill_pooled(board, store, groups, at)? || more)
    }

    /// Queues to read from: those that somebody serves, and for what is taken from any, those that have something.
    fn queues(
        &mut self,
        board: &Board,
        store: &mut dyn Store,
        groups: &[DispatchGroup],
    ) -> Result<BTreeSet<Name>> {
        let mut queues = board.windows.wanted_queues();
        if board.windows.wants_any_queue() {
            if !self.knows_queues {
                for group in groups {
                    for sort in store::ready_queues(store.reader(), group)? {
                        self.roots.entry(sort).or_default();
                    }
                }
                self.knows_queues = true;
            }
            let mine = self.roots.keys().filter(|sort| groups.contains(&sort.dispatch_group));
            queues.extend(mine.map(|sort| sort.queue.clone()));
        }
        Ok(queues)
    }

    fn refill_pooled(
        &mut self,
        board: &mut Board,
        store: &mut dyn Store,
        groups: &[DispatchGroup],
        at: Commits,
    ) -> Result<bool> {
        if !self.knows_pooled {
            let found = pools::sorts(store.reader())?.into_iter();
            for sort in found.filter(|sort| groups.contains(&sort.dispatch_group)) {
                self.roots.entry(sort).or_default();
            }
            self.knows_pooled = true;
        }
        let (queues, any) = (board.windows.wanted_queues(), board.windows.wants_any_queue());
        let mine = |sort: &&Sort| {
            let wanted = any || queues.contains(&sort.queue);
            sort.pool.is_some() && wanted && groups.contains(&sort.dispatch_group)
        };
        let pooled: Vec<Sort> = self.roots.keys().filter(mine).cloned().collect();
        let mut more = false;
        for sort in pooled {
            more |= self.refill_roots(board, store, &sort, at)?;
            if self.roots.get(&sort).is_some_and(|r| r.empty && r.back.is_empty()) {
                self.roots.remove(&sort);
            }
        }
        Ok(more)
    }

    fn refill_roots(
        &mut self,
        board: &mut Board,
        store: &mut dyn Store,
        sort: &Sort,
        at: Commits,
    ) -> Result<bool> {
        let roots = self.roots.entry(sort.clone()).or_default();
        roots.see(at.durable);
        if roots.empty || !has_room(board, sort) {
            return Ok(false);
        }
        let limit = if sort.pool.is_some() { limits::POOL_WINDOW } else { limits::WINDOW_PAGE };
        let before = waiting(board, sort);
        if before >= limit / 2 {
            return Ok(false);
        }
        let page = store.ready(sort, roots.after, limit)?;
        let full = page.len() == limit;
        if let Some(last) = page.last() {
            roots.after = Some(last.id);
        }
        // A step spilled by a turn that is not durable yet cannot be seen; there may be more than this page.
        roots.empty = !full && roots.spilled_in <= at.durable;
        for step in page {
            if board.windows.is_wanted(&step.queue, &step.action) {
                board.load_step(step);
            }
        }
        Ok(full && waiting(board, sort) == before)
    }

    fn refill_openings(&mut self, board: &mut Board, store: &mut dyn Store, at: Commits) -> Result<bool> {
        let mut left = self.openings.len();
        let mut more = false;
        while left > 0 && board.windows.len() < limits::WINDOW_STEPS_MAX / 2 {
            left -= 1;
            let Some(mut opening) = self.openings.pop_front() else { break };
            if opening.not_before > at.durable
                || opening.behind.as_ref().is_some_and(|sort| !has_room_in_block(board, sort))
            {
                self.openings.push_back(opening);
                continue;
            }
            let Opened { block, kind, index } = opening.opened;
            load_summary(board, store, block)?;
            if !still_open(board, opening.opened) {
                continue;
            }
            if all_in_hand(board, block, kind, index) {
                board.refresh_children(block);
                continue;
            }
            let page = store.at_index(block, kind, index, opening.after, limits::WINDOW_PAGE)?;
            let full = page.len() == limits::WINDOW_PAGE;
            let last = page.last().map(|s| s.id).or(opening.after);
            let (mut loaded, mut skipped) = (false, None);
            for step in page {
                let sort = sort_of(&step);
                if step.line().is_some() {
                    // Whoever's turn has come in its block stands in line, also if nobody takes it now.
                    let new = step.line().is_some_and(|member| !member.joined);
                    loaded |= new;
                    match board.is_elsewhere(&step) {
                        true if new => board.join(&step),
                        true => {}
                        false => board.load_step(step),
                    }
                    continue;
                }
                if !board.windows.is_wanted(&step.queue, &step.action) {
                    continue;
                }
                if !has_room_in_block(board, &sort) {
                    // Those behind it may need another pool, or none.
                    skipped = skipped.or(Some((opening.after, sort)));
                    continue;
                }
                opening.after = Some(step.id);
                board.load_step(step);
                loaded = true;
            }
            if let Some((after, sort)) = skipped {
                self.openings.push_back(Opening { after, behind: Some(sort), ..opening.clone() });
            }
            (opening.after, opening.behind) = (last, None);
            more |= full && !loaded;
            // A step spilled by a turn that is not durable yet cannot be seen; look again when it is.
            if full || opening.spilled_in > at.durable {
                self.openings.push_back(opening);
            }
        }
        Ok(more)
    }
}

impl Opening {
    fn of(opened: Opened) -> Opening {
        Opening { opened, after: None, spilled_in: 0, not_before: 0, behind: None }
    }
}

/// Which turn is durable; reads see nothing later.
#[derive(Clone, Copy)]
pub struct Commits {
    pub durable: u64,
}

fn still_open(board: &Board, opened: Opened) -> bool {
    board.block(opened.block).is_some_and(|b| {
        let at = if opened.kind == StepKind::Resolver { b.resolver_index } else { b.current_index };
        at == opened.index && b.live_at(opened.kind, opened.index) > 0
    })
}

/// Every live step at the index is already in hand, so the disk has nothing to add.
fn all_in_hand(board: &Board, block: BlockId, kind: StepKind, index: u32) -> bool {
    let live = board.block(block).map_or(0, |b| b.live_at(kind, index)) as usize;
    if board.n_children(block) < live {
        return false;
    }
    board.children(block).filter(|s| s.kind == kind && s.index() == index && s.state.is_hot()).count() >= live
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by the crash rounds: a page showed steps of other nodes behind one of this node's that could not be seen yet; the
    /// cursor went past it, and nobody looked at it again.
    #[test]
    fn the_cursor_steps_back_to_what_could_not_be_seen_yet() {
        let mut roots = Roots { after: Some(StepId::of(3)), ..Roots::default() };
        roots.step_back(StepId::of(6), 7);
        roots.step_back(StepId::of(5), 7);
        roots.step_back(StepId::of(8), 8);
        (roots.after, roots.empty) = (Some(StepId::of(9)), true);
        roots.see(6);
        assert_eq!((roots.after, roots.empty), (Some(StepId::of(9)), true));
        roots.see(7);
        assert_eq!((roots.after, roots.empty), (Some(StepId::of(4)), false));
        roots.see(8);
        assert_eq!((roots.after, roots.back.len()), (Some(StepId::of(4)), 0));
    }
}
