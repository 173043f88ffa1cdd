//! Brings the lines of message groups in from disk: the front of each, and the groups that nobody has looked at yet.
//!
//! Why    a line may be longer than memory, and there may be more groups than memory. What a turn leaves on disk can be read only
//!        once it is durable; until then nobody behind it is brought in, or the order would be lost.

use model::{DispatchGroup, Name, Priority, Rank, Step, limits};
use rules::board::{Board, Reach};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use store::{Result, Store, message_groups};

/// How far the message groups of one dispatch group have been looked for.
#[derive(Default)]
struct Scan {
    after: String,
    done: bool,
    /// Some group was seen and not taken in.
    passed: bool,
    /// Queues, pools and priorities that had as many in hand as they may.
    behind: BTreeSet<(Name, Name, Priority)>,
}

#[derive(Default)]
pub struct LineSources {
    scans: BTreeMap<DispatchGroup, Scan>,
    /// By turn that is not durable, the first of each line that it left on disk.
    unseen: BTreeMap<u64, HashMap<Name, Rank>>,
    /// Steps that ended and stand in the index of their line until it is swept: how many, and the last of them.
    ended: HashMap<Name, (usize, Rank)>,
}

impl LineSources {
    /// Everything must be looked at again: a new session wants what nobody wanted.
    pub fn restart(&mut self) {
        self.scans.clear();
    }
    /// A turn left these on disk.
    pub fn left(&mut self, turn: u64, left: HashMap<Name, Rank>) {
        let unseen = self.unseen.entry(turn).or_default();
        for (group, rank) in left {
            unseen.entry(group).and_modify(|first| *first = rank.min(*first)).or_insert(rank);
        }
    }
    pub fn durable(&mut self, turn: u64) {
        self.unseen = self.unseen.split_off(&(turn + 1));
    }
    /// A step of a line ended. From time to time, and at its end, the line is to be swept up to this rank.
    pub fn ended(&mut self, step: &Step, board: &Board) -> Option<(DispatchGroup, Name, Rank)> {
        let member = step.line()?;
        let (n, last) = self.ended.entry(member.group.clone()).or_insert((0, member.rank()));
        (*n, *last) = (*n + 1, member.rank().max(*last));
        let due = *n >= limits::LINE_PAGE || !board.lines.knows(&member.group);
        due.then(|| self.ended.remove(&member.group))
            .flatten()
            .map(|(_, last)| (step.dispatch_group.clone(), member.group.clone(), last))
    }
    /// Whoever stands here or behind it may be hidden by a turn that is on its way.
    fn first_unseen(&self, group: &Name, board: &Board) -> Option<Rank> {
        let on_the_way = self.unseen.values().filter_map(|left| left.get(group).copied());
        on_the_way.chain(board.lines.first_left(group)).min()
    }

    /// A new step of a line: if the disk has nothing of the line, all of it is in hand.
    pub fn expect(
        &mut self,
        step: &Step,
        board: &mut Board,
        store: &mut dyn Store,
        anyone: bool,
    ) -> Result<()> {
        let Some(member) = step.line() else { return Ok(()) };
        if board.lines.knows(&member.group) {
            return Ok(());
        }
        let scan = self.scans.entry(step.dispatch_group.clone()).or_default();
        if board.lines.len() >= limits::LINES_MAX {
            *scan = Scan::default();
            return Ok(());
        }
        let whole = scan.done && !scan.passed && self.first_unseen(&member.group, board).is_none();
        let reach = if whole { Reach::Whole } else { Reach::Nothing };
        board.lines.open(&member.group, &step.dispatch_group, reach);
        if !whole && anyone {
            self.feed(board, store, &member.group, &step.dispatch_group)?;
            // Nothing of it is on disk: it is opened for what comes.
            board.lines.open(&member.group, &step.dispatch_group, Reach::Whole);
        }
        Ok(())
    }
    /// Another node stored steps of a line here; they can be seen already.
    pub fn arrived(&mut self, group: &Name, home: &DispatchGroup, rank: Rank, board: &mut Board) {
        board.lines.open(group, home, Reach::Nothing);
        let turned = board.lines.arrived(group, rank);
        board.show(turned);
    }

    pub fn is_waiting(&self, board: &Board) -> bool {
        board.lines.is_hungry() || self.scans.values().any(|scan| !scan.done)
    }

    pub fn refill(
        &mut self,
        board: &mut Board,
        store: &mut dyn Store,
        homes: &[DispatchGroup],
    ) -> Result<()> {
        for (group, home) in board.lines.hungry() {
            self.feed(board, store, &group, &home)?;
        }
        for home in homes {
            self.scan(board, store, home)?;
        }
        Ok(())
    }

    /// Read the front of one line.
    fn feed(
        &mut self,
        board: &mut Board,
        store: &mut dyn Store,
        group: &Name,
        home: &DispatchGroup,
    ) -> Result<()> {
        let blocked = board.lines.is_blocked(group);
        let page = message_groups::line(store.reader(), home, group, blocked, limits::LINE_PAGE)?;
        let full = page.len() == limits::LINE_PAGE;
        let unseen = self.first_unseen(group, board);
        let rank = |step: &Step| step.line().map(|member| member.rank());
        let seen = |step: &Step| step.attempt > 0 || unseen.is_none_or(|first| rank(step) < Some(first));
        let last = page.iter().filter(|step| step.attempt == 0 && seen(step)).filter_map(rank).next_back();
        let reach = match last {
            None if full || unseen.is_some() => Reach::Nothing,
            Some(last) if full || unseen.is_some() => Reach::To(last),
            _ => Reach::Whole,
        };
        board.lines.reach(group, reach);
        page.into_iter().filter(seen).for_each(|step| board.load_step(step));
        board.lines.settle(group);
        self.close_unwanted(board, group, home);
        Ok(())
    }

    /// A line whose first nobody takes stays on disk.
    fn close_unwanted(&mut self, board: &mut Board, group: &Name, home: &DispatchGroup) {
        let head = board.lines.head(group).and_then(|id| board.step(id));
        if head.is_some_and(|step| !board.windows.is_wanted(&step.queue, &step.action)) {
            self.scans.entry(home.clone()).or_default().passed = true;
            let turned = board.lines.close(group);
            board.show(turned);
        }
    }

    /// Look for groups that are not in hand.
    fn scan(&mut self, board: &mut Board, store: &mut dyn Store, home: &DispatchGroup) -> Result<()> {
        let scan = self.scans.entry(home.clone()).or_default();
        let has_room = |(queue, pool, priority): &(Name, Name, Priority)| {
            board.windows.waiting_in(home, queue, pool, *priority) < limits::POOL_WINDOW / 2
        };
        if scan.done && scan.behind.iter().any(has_room) {
            *scan = Scan::default();
        }
        if scan.done || board.lines.len() >= limits::LINES_MAX {
            return Ok(());
        }
        let page = message_groups::heads(store.reader(), home, &scan.after, limits::LINES_PAGE)?;
        scan.done = page.len() < limits::LINES_PAGE;
        for step in page {
            let Some(member) = step.line() else { continue };
            let (group, rank) = (member.group.clone(), member.rank());
            scan.after = group.to_string();
            let paused = board.lines.held(&group).is_some_and(|held| held.paused);
            if board.lines.knows(&group) || paused {
                continue;
            }
            if !board.windows.is_wanted(&step.queue, &step.action) {
                scan.passed = true;
                continue;
            }
            if let Some(pool) = &step.pool
                && board.windows.waiting_in(home, &step.queue, pool, step.priority) >= limits::POOL_WINDOW
            {
                scan.passed = true;
                scan.behind.insert((step.queue.clone(), pool.clone(), step.priority));
                continue;
            }
            let hidden = self.unseen.values().any(|left| left.contains_key(&group))
                || board.lines.first_left(&group).is_some();
            if hidden || board.lines.is_blocked(&group) {
                board.lines.open(&group, home, Reach::Nothing);
                continue;
            }
            board.lines.open(&group, home, Reach::To(rank));
            board.load_step(step);
        }
        Ok(())
    }
}
