//! Ready steps in hand, one window per dispatch group, queue, action and pool, highest and oldest first.
//!
//! Why    what was begun is brought to its end before more is begun: a step of a workflow stands where its workflow began, so that it
//!        need not wait behind everything that was started since. And a step that no session can run, or whose pool is full, must not stand in front of one that can start; so windows exist
//!        only for what some session offers, and the rest stays on disk.

use model::{DispatchGroup, Name, Priority, Step, StepId};
use std::collections::{BTreeSet, HashMap, HashSet};

#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct WindowKey {
    pub dispatch_group: DispatchGroup,
    pub queue: Name,
    pub action: Name,
    pub pool: Option<Name>,
}

impl WindowKey {
    pub fn of(step: &Step) -> WindowKey {
        WindowKey {
            dispatch_group: step.dispatch_group.clone(),
            queue: step.queue.clone(),
            action: step.action.clone(),
            pool: step.pool.clone(),
        }
    }
}

/// A ready step, behind those that are of higher priority or older.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ready {
    pub priority: Priority,
    /// What it began with: its workflow, or itself.
    pub since: [u8; 16],
    pub step: StepId,
}

impl Ready {
    pub fn of(step: &Step) -> Ready {
        let since = step.in_workflow.map_or(*step.id.bytes(), |part| *part.workflow.bytes());
        Ready { priority: step.priority, since, step: step.id }
    }
}

#[derive(Debug)]
pub struct Window {
    pub key: WindowKey,
    pub ready: BTreeSet<Ready>,
}

/// What somebody takes.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Wants {
    /// Actions, each with the queue it is taken from.
    pub pairs: HashSet<(Name, Name)>,
    /// Actions that are taken from any queue, whoever it belongs to.
    pub anywhere: HashSet<Name>,
}

impl Wants {
    fn has(&self, queue: &Name, action: &Name) -> bool {
        self.anywhere.contains(action) || self.pairs.contains(&(queue.clone(), action.clone()))
    }
    fn is_within(&self, other: &Wants) -> bool {
        self.anywhere.is_subset(&other.anywhere) && self.pairs.iter().all(|(q, a)| other.has(q, a))
    }
}

#[derive(Default, Debug)]
enum Wanted {
    #[default]
    Everything,
    Only(Wants),
}

#[derive(Default, Debug)]
pub struct Windows {
    list: Vec<Window>,
    by_key: HashMap<WindowKey, usize>,
    wanted: Wanted,
    len: usize,
    pooled: usize,
}

impl Windows {
    /// Ready steps that need no pool; of those that do, each pool has a share of its own.
    pub fn len(&self) -> usize {
        self.len
    }
    pub fn is_empty(&self) -> bool {
        self.len + self.pooled == 0
    }
    pub fn iter(&self) -> impl Iterator<Item = &Window> {
        self.list.iter()
    }
    /// How many ready steps of a pool and priority are in hand for a queue of a group.
    pub fn waiting_in(&self, group: &DispatchGroup, queue: &Name, pool: &Name, priority: Priority) -> usize {
        let mine = |w: &&Window| {
            w.key.pool.as_ref() == Some(pool) && w.key.dispatch_group == *group && w.key.queue == *queue
        };
        let of = |w: &Window| w.ready.iter().filter(|ready| ready.priority == priority).count();
        self.list.iter().filter(mine).map(of).sum()
    }
    /// How many ready steps that need no pool are in hand for a queue of a group.
    pub fn waiting(&self, group: &DispatchGroup, queue: &Name) -> usize {
        let mine =
            |w: &&Window| w.key.pool.is_none() && w.key.dispatch_group == *group && w.key.queue == *queue;
        self.list.iter().filter(mine).map(|w| w.ready.len()).sum()
    }
    /// Pools with a ready step in hand.
    pub fn pools(&self) -> BTreeSet<&Name> {
        self.list.iter().filter(|w| !w.ready.is_empty()).filter_map(|w| w.key.pool.as_ref()).collect()
    }
    pub fn at(&self, i: usize) -> &Window {
        &self.list[i]
    }
    pub fn n_windows(&self) -> usize {
        self.list.len()
    }

    /// Keep only what somebody takes; true when something is wanted that was not before.
    pub fn want(&mut self, wants: Wants) -> bool {
        let more = match &self.wanted {
            Wanted::Everything => true,
            Wanted::Only(had) => !wants.is_within(had),
        };
        for window in &mut self.list {
            if !wants.has(&window.key.queue, &window.key.action) {
                let len = if window.key.pool.is_some() { &mut self.pooled } else { &mut self.len };
                *len -= window.ready.len();
                window.ready.clear();
            }
        }
        self.wanted = Wanted::Only(wants);
        more
    }
    pub fn is_wanted(&self, queue: &Name, action: &Name) -> bool {
        match &self.wanted {
            Wanted::Everything => true,
            Wanted::Only(wants) => wants.has(queue, action),
        }
    }
    /// Queues from which something is taken, beside those from which anybody's is.
    pub fn wanted_queues(&self) -> BTreeSet<Name> {
        match &self.wanted {
            Wanted::Everything => BTreeSet::new(),
            Wanted::Only(wants) => wants.pairs.iter().map(|(queue, _)| queue.clone()).collect(),
        }
    }
    /// Something is taken whichever queue it is in.
    pub fn wants_any_queue(&self) -> bool {
        matches!(&self.wanted, Wanted::Only(wants) if !wants.anywhere.is_empty())
    }

    pub fn holds(&self, step: &Step) -> bool {
        self.by_key.get(&WindowKey::of(step)).is_some_and(|i| self.list[*i].ready.contains(&Ready::of(step)))
    }

    pub(super) fn set(&mut self, step: &Step, ready: bool) {
        let key = WindowKey::of(step);
        let slot = match self.by_key.get(&key) {
            Some(i) => *i,
            None if !ready || !self.is_wanted(&step.queue, &step.action) => return,
            None => {
                self.list.push(Window { key: key.clone(), ready: BTreeSet::new() });
                self.by_key.insert(key, self.list.len() - 1);
                self.list.len() - 1
            }
        };
        let wanted = ready && self.is_wanted(&step.queue, &step.action);
        let window = &mut self.list[slot].ready;
        let len = if step.pool.is_some() { &mut self.pooled } else { &mut self.len };
        let place = Ready::of(step);
        if wanted {
            *len += usize::from(window.insert(place));
        } else {
            *len -= usize::from(window.remove(&place));
            // A raised priority leaves its old place behind.
            let priority = if step.priority == Priority::High { Priority::Normal } else { Priority::High };
            *len -= usize::from(window.remove(&Ready { priority, ..place }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::parse;

    /// `default/mail */deliver`: pairs, and actions of any queue.
    fn wants(text: &str) -> Wants {
        let mut wants = Wants::default();
        for (queue, action) in text.split(' ').filter_map(|word| word.split_once('/')) {
            match queue {
                "*" => drop(wants.anywhere.insert(action.into())),
                _ => drop(wants.pairs.insert((queue.into(), action.into()))),
            }
        }
        wants
    }

    #[test]
    fn what_is_taken_from_any_queue_is_wanted_whoever_the_queue_belongs_to() {
        let mut windows = Windows::default();
        assert!(windows.want(wants("default/mail */deliver")), "everything was in hand before");
        let is_wanted =
            |windows: &Windows, queue: &str, action: &str| windows.is_wanted(&queue.into(), &action.into());
        assert!(is_wanted(&windows, "default", "mail") && is_wanted(&windows, "another-host", "deliver"));
        assert!(!is_wanted(&windows, "another-host", "mail"));
        assert!(windows.wants_any_queue());
        assert!(!windows.want(wants("default/mail default/deliver */deliver")), "it was wanted already");
        assert!(!windows.want(wants("default/mail")), "less is wanted");
        assert!(windows.want(wants("*/mail")), "of other queues too");
        assert_eq!(windows.wanted_queues().len(), 0);
    }

    #[test]
    fn what_nobody_wants_any_more_leaves_its_window() {
        let mut board = parse("a\nb pool=card").board;
        assert_eq!((board.windows.len(), board.windows.is_empty()), (1, false));
        board.windows.want(wants("default/other"));
        assert_eq!((board.windows.len(), board.windows.is_empty()), (0, true));
    }
}
