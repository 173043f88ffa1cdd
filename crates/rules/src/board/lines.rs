//! The lines of message groups: who has the group, and who comes next.
//!
//! Why    one step of a group at a time, in order, and only the first of each line is shown to the pick: a group that is busy,
//!        blocked or paused costs the others nothing. Of a long line only the front is in hand; how far that reaches is known, so
//!        that nobody is passed over who is still on disk.

use model::{DispatchGroup, DispatchMode, Name, Rank, Step, StepId, limits};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Before everybody.
fn first() -> Rank {
    (i32::MIN, StepId::from_bytes([0; 16]))
}

/// How much of a line is in hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    Nothing,
    /// Everybody up to this one.
    To(Rank),
    Whole,
}

impl Reach {
    fn covers(self, rank: Rank) -> bool {
        match self {
            Reach::Nothing => false,
            Reach::To(last) => rank <= last,
            Reach::Whole => true,
        }
    }
}

/// What a step is to its line now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// It has the group: a worker has it, or it waits for another try.
    Holds {
        ready: bool,
    },
    Waits,
    Away,
}

#[derive(Debug)]
struct Line {
    dispatch_group: DispatchGroup,
    holder: Option<(StepId, bool)>,
    waiting: BTreeMap<Rank, (StepId, DispatchMode)>,
    reach: Reach,
}

/// What keeps a group from going on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held {
    pub paused: bool,
    /// Steps of it that failed and were not forgiven.
    pub blocked_by: BTreeSet<StepId>,
}

impl Held {
    fn is_blocked(&self) -> bool {
        !self.blocked_by.is_empty()
    }
    fn passes(&self, mode: DispatchMode) -> bool {
        !self.is_blocked() || mode != DispatchMode::BlockOnError
    }
}

impl Line {
    /// Who may start, as far as the line is concerned.
    fn head(&self, held: Option<&Held>) -> Option<StepId> {
        if held.is_some_and(|h| h.paused) {
            return None;
        }
        match self.holder {
            Some((id, ready)) => ready.then_some(id),
            None => {
                let passes = |mode| held.is_none_or(|h| h.passes(mode));
                self.waiting.values().find(|(_, mode)| passes(*mode)).map(|(id, _)| *id)
            }
        }
    }
}

/// Whose turn it was, and whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Turned {
    pub before: Option<StepId>,
    pub now: Option<StepId>,
}

#[derive(Default, Debug)]
pub struct Lines {
    lines: HashMap<Name, Line>,
    held: HashMap<Name, Held>,
    /// Nobody of the line is in hand, and there may be more on disk.
    hungry: BTreeSet<Name>,
    /// The first of each line that stays on disk since the last look.
    left: HashMap<Name, Rank>,
    waiting: usize,
}

impl Lines {
    pub fn len(&self) -> usize {
        self.lines.len()
    }
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
    pub fn knows(&self, group: &str) -> bool {
        self.lines.contains_key(group)
    }
    pub fn held(&self, group: &str) -> Option<&Held> {
        self.held.get(group)
    }
    /// Only steps that are not held back by a failure are of interest.
    pub fn is_blocked(&self, group: &str) -> bool {
        self.held.get(group).is_some_and(Held::is_blocked)
    }
    /// Its line is in hand, and no step has the group.
    pub fn is_free(&self, group: &str) -> bool {
        self.lines.get(group).is_some_and(|line| line.holder.is_none())
    }
    pub fn head(&self, group: &str) -> Option<StepId> {
        self.lines.get(group)?.head(self.held.get(group))
    }
    /// Kept in hand for its line's sake.
    pub fn holds(&self, step: &Step) -> bool {
        let Some(member) = step.line() else { return false };
        let line = self.lines.get(&member.group);
        line.is_some_and(|line| line.waiting.get(&member.rank()).is_some_and(|(id, _)| *id == step.id))
    }
    /// Lines of which more must be read, with the dispatch group of each.
    pub fn hungry(&self) -> Vec<(Name, DispatchGroup)> {
        let known = |name: &Name| Some((name.clone(), self.lines.get(name)?.dispatch_group.clone()));
        self.hungry.iter().filter_map(known).collect()
    }
    pub fn is_hungry(&self) -> bool {
        !self.hungry.is_empty()
    }
    /// The first of each line that stays on disk since the last look: it can be read once this turn is durable.
    pub fn take_left(&mut self) -> HashMap<Name, Rank> {
        std::mem::take(&mut self.left)
    }

    /// A line is looked at from now on; `reach` says what of it is in hand, if it was not known.
    pub fn open(&mut self, group: &Name, dispatch_group: &DispatchGroup, reach: Reach) {
        if !self.lines.contains_key(group) {
            let line = Line {
                dispatch_group: dispatch_group.clone(),
                holder: None,
                waiting: BTreeMap::new(),
                reach,
            };
            self.lines.insert(group.clone(), line);
            if reach != Reach::Whole {
                self.settle(group);
            }
        }
    }
    /// What is read now reaches so far; `settle` when all of it is in hand.
    pub fn reach(&mut self, group: &Name, reach: Reach) {
        if let Some(line) = self.lines.get_mut(group) {
            line.reach = reach;
        }
    }
    /// Somebody else added to a line: what lies behind `rank` must be read again.
    pub fn arrived(&mut self, group: &Name, rank: Rank) -> Turned {
        self.turning(group, |lines| {
            // Those of this node that are let go with it may not be durable yet.
            let behind = lines.lines.get(group).and_then(|line| line.waiting.range(rank..).next());
            let first = behind.map(|(first, _)| *first);
            lines.cut(group, rank);
            first.into_iter().for_each(|first| lines.leaves(group, first));
        })
    }
    /// Let go of a line that nobody has; all of it is on disk.
    pub fn close(&mut self, group: &Name) -> Turned {
        self.turning(group, |lines| {
            if lines.is_free(group) {
                lines.leave(group, first());
                lines.lines.remove(group);
                lines.hungry.remove(group);
            }
        })
    }
    /// What holds a group back, all of it; nothing if it may go on.
    pub fn hold(&mut self, group: &Name, held: Held) -> Turned {
        let was_blocked = self.is_blocked(group);
        self.turning(group, |lines| {
            match (was_blocked, held.is_blocked()) {
                // Those that cannot pass go; whoever can is in hand as far as the line was.
                (false, true) => {
                    if let Some(line) = lines.lines.get_mut(group) {
                        let before = line.waiting.len();
                        line.waiting.retain(|_, (_, mode)| held.passes(*mode));
                        lines.waiting -= before - line.waiting.len();
                    }
                }
                (true, false) => lines.leave(group, first()),
                _ => {}
            }
            if held == Held::default() {
                lines.held.remove(group);
            } else {
                lines.held.insert(group.clone(), held);
            }
        })
    }

    /// A step's part in its line has changed, or is looked at again.
    pub(super) fn set(&mut self, step: &Step, part: Part) -> Turned {
        let Some(member) = step.line() else { return Turned::default() };
        let (group, rank, id) = (member.group.clone(), member.rank(), step.id);
        if !self.lines.contains_key(&group) {
            if part == Part::Away {
                return Turned::default();
            }
            if part == Part::Waits && self.lines.len() >= limits::LINES_MAX {
                self.leaves(&group, rank);
                return Turned::default();
            }
            self.open(&group, &step.dispatch_group, Reach::Nothing);
        }
        self.turning(&group, |lines| {
            let Some(line) = lines.lines.get_mut(&group) else { return };
            if line.holder.is_some_and(|(holder, _)| holder == id) {
                line.holder = None;
            }
            if let Part::Holds { ready } = part {
                line.holder = Some((id, ready));
            }
            if part != Part::Waits {
                if line.waiting.get(&rank).is_some_and(|(waiting, _)| *waiting == id) {
                    line.waiting.remove(&rank);
                    lines.waiting -= 1;
                }
                return;
            }
            let of_interest =
                lines.held.get(&group).is_none_or(|h| h.passes(member.mode)) && line.reach.covers(rank);
            if of_interest && lines.waiting < limits::LINE_STEPS_MAX {
                lines.waiting += usize::from(line.waiting.insert(rank, (id, member.mode)).is_none());
            } else {
                lines.leave(&group, rank);
            }
        })
    }

    /// Whoever stands at `rank` or behind it is on disk, and only there.
    fn cut(&mut self, group: &Name, rank: Rank) {
        let Some(line) = self.lines.get_mut(group) else { return };
        let behind = line.waiting.split_off(&rank);
        self.waiting -= behind.len();
        if line.reach.covers(rank) {
            line.reach = match line.waiting.last_key_value() {
                Some((last, _)) => Reach::To(*last),
                None => Reach::Nothing,
            };
        }
    }
    /// The same, and some of it may not be durable yet.
    fn leave(&mut self, group: &Name, rank: Rank) {
        self.cut(group, rank);
        self.leaves(group, rank);
    }
    fn leaves(&mut self, group: &Name, rank: Rank) {
        self.left.entry(group.clone()).and_modify(|first| *first = rank.min(*first)).or_insert(rank);
    }
    /// The first of a line that this turn leaves on disk.
    pub fn first_left(&self, group: &str) -> Option<Rank> {
        self.left.get(group).copied()
    }

    fn turning(&mut self, group: &Name, change: impl FnOnce(&mut Lines)) -> Turned {
        let before = self.head(group);
        change(self);
        self.settle(group);
        Turned { before, now: self.head(group) }
    }

    /// Whether more of it must be read, or nothing is left of it.
    pub fn settle(&mut self, group: &Name) {
        let Some(line) = self.lines.get(group) else { return };
        let paused = self.held.get(group).is_some_and(|h| h.paused);
        let empty = line.waiting.is_empty();
        if empty && line.holder.is_none() && (line.reach == Reach::Whole || paused) {
            self.lines.remove(group);
            self.hungry.remove(group);
        } else if empty && line.reach != Reach::Whole && !paused {
            self.hungry.insert(group.clone());
        } else {
            self.hungry.remove(group);
        }
    }
}

#[cfg(test)]
mod tests;
