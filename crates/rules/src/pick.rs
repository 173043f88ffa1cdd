//! Chooses which ready steps go to which sessions in this turn.
//!
//! Finds   the heads of the windows of dispatch groups whose breaker is on.
//! Emits   pairs of step and session.
//! Why     groups take turns so that none starves; high priority goes first but takes at most four fifths of a turn, and
//!         neither an action nobody offers nor a full pool stands in anybody's way.

use crate::board::{Ready, Windows};
use model::{DispatchGroup, Name, Priority, Session, SessionId, StepId, limits};
use std::collections::{BTreeMap, btree_set};
use std::iter::Peekable;

/// What the pick needs to know about one dispatch group.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    pub dispatch_group: DispatchGroup,
    pub off: bool,
    /// Steps this group may dispatch in this turn; 0 is no limit.
    pub max_per_tick: usize,
}

/// How many steps of each pool may start in this turn; a pool that is not there lets none start.
pub type Allowance = BTreeMap<Name, usize>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    pub step: StepId,
    pub session: SessionId,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picked {
    pub picks: Vec<Pick>,
    /// Groups that reached their limit with ready steps left over.
    pub capped: Vec<DispatchGroup>,
}

type Cursor<'a> = Peekable<btree_set::Range<'a, Ready>>;

/// One group's windows as cursors, best head first.
struct Lane<'a> {
    gate: &'a Gate,
    /// Two per window, so that what is left of high priority does not hide the normal steps behind it.
    heads: Vec<(usize, Cursor<'a>)>,
    taken: usize,
}

impl Lane<'_> {
    fn is_full(&self) -> bool {
        self.gate.max_per_tick > 0 && self.taken >= self.gate.max_per_tick
    }
    /// The best head of this priority that some free session takes and its pool lets start.
    fn next(&mut self, priority: Priority, free: &mut Free) -> Option<(StepId, usize)> {
        let mut best: Option<(usize, Ready, usize)> = None;
        for (at, (window, iter)) in self.heads.iter_mut().enumerate() {
            let Some(ready) = iter.peek() else { continue };
            if ready.priority != priority || best.is_some_and(|(_, best, _)| best < **ready) {
                continue;
            }
            if let Some(session) = free.session_for(*window) {
                best = Some((at, **ready, session));
            }
        }
        let (at, ready, session) = best?;
        self.heads[at].1.next();
        free.take(self.heads[at].0, session);
        self.taken += 1;
        Some((ready.step, session))
    }
}

/// Free places per session and pool, and which window each session serves.
struct Free<'a> {
    sessions: &'a [Session],
    places: Vec<usize>,
    serves: Vec<Vec<usize>>,
    /// For each window its pool, as a place in `starts`.
    pools: Vec<Option<usize>>,
    starts: Vec<usize>,
}

impl<'a> Free<'a> {
    fn new(sessions: &'a [Session], windows: &'a Windows, allowance: &Allowance) -> Self {
        let takes = |i: usize| {
            let key = &windows.at(i).key;
            sessions
                .iter()
                .enumerate()
                .filter(|(_, s)| s.takes(&key.queue, &key.action))
                .map(|(n, _)| n)
                .collect()
        };
        let serves = (0..windows.n_windows()).map(takes).collect();
        let (mut starts, mut known) = (Vec::new(), BTreeMap::new());
        let mut pool = |name: &'a Name| {
            *known.entry(name).or_insert_with(|| {
                starts.push(allowance.get(name).copied().unwrap_or(0));
                starts.len() - 1
            })
        };
        let pools = windows.iter().map(|w| w.key.pool.as_ref().map(&mut pool)).collect();
        Free { sessions, places: sessions.iter().map(Session::free).collect(), serves, pools, starts }
    }
    fn take(&mut self, window: usize, session: usize) {
        self.places[session] -= 1;
        if let Some(pool) = self.pools[window] {
            self.starts[pool] -= 1;
        }
    }
    /// The session with the most free places among those that take this window's work; none if its pool is full.
    fn session_for(&self, window: usize) -> Option<usize> {
        if self.pools[window].is_some_and(|pool| self.starts[pool] == 0) {
            return None;
        }
        let open = self.serves[window].iter().copied().filter(|s| self.places[*s] > 0);
        open.max_by_key(|s| (self.places[*s], std::cmp::Reverse(*s)))
    }
}

/// `turn` rotates which group goes first.
pub fn pick(
    windows: &Windows,
    gates: &[Gate],
    sessions: &[Session],
    allowance: &Allowance,
    (turn, limit): (u64, usize),
) -> Picked {
    let mut free = Free::new(sessions, windows, allowance);
    let limit = limit.min(limits::PICKS_PER_TURN_MAX).min(free.places.iter().sum());
    let (priority, since, step) = (Priority::Normal, [0; 16], StepId::from_bytes([0; 16]));
    let first_normal = Ready { priority, since, step };
    let mut lanes: Vec<Lane> = gates
        .iter()
        .filter(|gate| !gate.off)
        .map(|gate| {
            let mine =
                windows.iter().enumerate().filter(|(_, w)| w.key.dispatch_group == gate.dispatch_group);
            let heads = mine.filter(|(_, w)| !w.ready.is_empty()).flat_map(|(i, w)| {
                [(i, w.ready.range(..first_normal).peekable()), (i, w.ready.range(first_normal..).peekable())]
            });
            Lane { gate, heads: heads.collect(), taken: 0 }
        })
        .filter(|lane| !lane.heads.is_empty())
        .collect();
    if lanes.is_empty() || limit == 0 {
        return Picked::default();
    }
    let n = lanes.len() as u64;
    lanes.rotate_left((turn % n) as usize);
    let mut picks = Vec::new();
    let high = limit - limit / 5;
    take(&mut lanes, &mut free, Priority::High, high.max(1), &mut picks);
    take(&mut lanes, &mut free, Priority::Normal, limit - picks.len(), &mut picks);
    // Nothing normal was left: the rest of the turn is high priority's too.
    let rest = limit - picks.len();
    take(&mut lanes, &mut free, Priority::High, rest, &mut picks);
    lanes.retain_mut(|l| l.is_full() && l.heads.iter_mut().any(|(_, left)| left.peek().is_some()));
    Picked { picks, capped: lanes.iter().map(|l| l.gate.dispatch_group.clone()).collect() }
}

fn take(lanes: &mut [Lane], free: &mut Free, priority: Priority, limit: usize, picks: &mut Vec<Pick>) {
    let end = picks.len() + limit;
    let mut moved = true;
    while moved && picks.len() < end {
        moved = false;
        for lane in lanes.iter_mut() {
            if picks.len() >= end || lane.is_full() {
                continue;
            }
            if let Some((step, session)) = lane.next(priority, free) {
                picks.push(Pick { step, session: free.sessions[session].id });
                moved = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{parse, session};

    fn picked(steps: &str, limit: usize) -> String {
        let tree = parse(steps);
        let allowance = Allowance::from([("card".into(), 2)]);
        let gate = |name| Gate { dispatch_group: DispatchGroup::new(name), off: false, max_per_tick: 0 };
        let picked = pick(
            &tree.board.windows,
            &[gate("alpha"), gate("beta")],
            &[session(1, 100)],
            &allowance,
            (0, limit),
        );
        let names: Vec<&str> = picked.picks.iter().map(|p| tree.names[&p.step].as_str()).collect();
        names.join(" ")
    }

    #[test]
    fn high_priority_takes_at_most_four_fifths_while_something_normal_waits() {
        let all = "n1\nn2\nh1 high\nh2 high\nh3 high\nh4 high\nh5 high\nh6 high";
        assert_eq!(picked(all, 5), "h1 h2 h3 h4 n1");
        assert_eq!(picked(all, 100), "h1 h2 h3 h4 h5 h6 n1 n2");
        assert_eq!(picked("h1 high\nh2 high\nh3 high\nh4 high\nh5 high\nh6 high", 5), "h1 h2 h3 h4 h5");
        assert_eq!(picked("n1\nh1 high", 1), "h1");
    }

    #[test]
    fn a_full_pool_stands_in_nobodys_way() {
        assert_eq!(picked("c1 pool=card\nc2 pool=card\nc3 pool=card\nn1\nn2", 100), "c1 c2 n1 n2");
        assert_eq!(picked("c1 pool=card\nb1 beta pool=card\nc2 pool=card\nb2 beta", 100), "c1 b1 b2");
        assert_eq!(picked("x1 pool=unknown\nn1", 100), "n1");
    }

    #[test]
    fn groups_take_turns() {
        assert_eq!(picked("a1\na2\na3\nb1 beta\nb2 beta", 4), "a1 b1 a2 b2");
    }
}
