//! The other nodes, as this one last saw them: what it asked of them, what they can give, and when to look again.

use crate::EngineError;
use crate::signal::{Reply, Taken};
use model::{BlockId, DispatchGroup, Name, NodeId, SessionId, SignalId, StepId, Timestamp};
use std::collections::HashMap;
use std::time::Duration;
use store::{Look, StoreError};

/// Looks while nothing happens: others wake this node when there is something.
const LOOK_IDLE: Duration = Duration::from_secs(10);
/// Looks while nothing happens and nobody can wake this node.
const LOOK_DEAF: Duration = Duration::from_millis(1_000);
/// Looks while an answer is awaited or signals come in, and the same when nobody can wake this node.
const LOOK_BUSY: Duration = Duration::from_millis(200);
const LOOK_BUSY_DEAF: Duration = Duration::from_millis(20);
/// How long signals are expected after the last one.
const BUSY_FOR: Duration = Duration::from_millis(500);
/// An answer nobody gave is no longer waited for.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Places for which work was asked elsewhere are used otherwise after this.
const PULL_MAX: Duration = Duration::from_secs(5);

pub type Tell = Box<dyn FnOnce(Result<&str, EngineError>) + Send>;

/// Turns with a signal that may fail before it is answered that it cannot be done.
const TRIES_MAX: u32 = 5;

/// What is to be done with an answer.
pub enum Then {
    /// Somebody waits for it.
    Tell(Tell),
    /// A worker waits to hear that its reports were applied.
    Reported { of: Vec<(SessionId, StepId)>, tell: Tell },
    /// A session of this node was sent for a step; nobody is told once it is in doubt whether anybody was asked.
    Begin { session: SessionId, reply: Option<Reply<Taken>> },
    /// A session asked for work; it keeps no places for it once that is in doubt.
    Pull { session: SessionId, places: usize, owner: NodeId },
}

impl Then {
    /// What is left to do with an answer that may still come, once whoever waits was told that it may not: steps in it were given.
    fn in_doubt(&self) -> Option<Then> {
        match self {
            Then::Begin { session, .. } => Some(Then::Begin { session: *session, reply: None }),
            Then::Pull { session, owner, .. } => {
                Some(Then::Pull { session: *session, places: 0, owner: *owner })
            }
            Then::Tell(_) | Then::Reported { .. } => None,
        }
    }
}

struct Waiting {
    then: Then,
    dispatch_group: DispatchGroup,
    since: Timestamp,
    /// The turn that asked.
    turn: u64,
}

/// Ready work of another node's group that it cannot place itself.
pub struct Hint {
    pub dispatch_group: DispatchGroup,
    pub owner: NodeId,
    pub ready: Vec<(Name, Name)>,
}

#[derive(Default)]
pub struct Peers {
    /// There may be others.
    pub shared: bool,
    /// Another node lives.
    pub others: bool,
    /// Others can wake this node.
    pub hears: bool,
    /// The groups should be spread otherwise, and a part of that is this node's to do.
    pub shift: bool,
    pub hints: Vec<Hint>,
    /// The owner of the first group that has one.
    pub leader: Option<NodeId>,
    owners: HashMap<DispatchGroup, NodeId>,
    waiting: HashMap<SignalId, Waiting>,
    /// Signals dealt with in turns that are not durable yet.
    taken: HashMap<SignalId, u64>,
    /// Steps that lines elsewhere are told to have been replaced, in turns that are not durable yet.
    replaced: HashMap<StepId, u64>,
    /// Blocks of which others are told to end steps, in such turns.
    falling: HashMap<BlockId, u64>,
    /// How often a turn was tried with a signal.
    tries: HashMap<SignalId, u32>,
    looked_at: Timestamp,
    busy_until: Timestamp,
    /// When another node or session is gone, unless it is heard of before.
    next_end: Option<Timestamp>,
    woken: bool,
}

impl Peers {
    pub fn new(shared: bool) -> Peers {
        Peers { shared, ..Peers::default() }
    }
    pub fn wake(&mut self) {
        self.woken = true;
    }
    pub fn next_look(&self, now: Timestamp) -> Option<Timestamp> {
        if !self.shared {
            return None;
        }
        let every = match () {
            () if self.woken => return Some(now),
            () if (!self.waiting.is_empty() || now < self.busy_until) && self.hears => LOOK_BUSY,
            () if !self.waiting.is_empty() || now < self.busy_until => LOOK_BUSY_DEAF,
            () if self.hears => LOOK_IDLE,
            () => LOOK_DEAF,
        };
        let next = self.looked_at + every;
        Some(self.next_end.map_or(next, |end| next.min(end.max(self.looked_at + LOOK_DEAF))))
    }
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.next_look(now).is_some_and(|at| at <= now)
    }
    pub fn saw(&mut self, look: &Look, node: NodeId, now: Timestamp) {
        (self.woken, self.looked_at) = (false, now);
        self.next_end = look.next_end(node);
        self.others = look.nodes.iter().any(|n| n.sharer.node != node);
        if !look.signals.is_empty() {
            self.busy_until = now + BUSY_FOR;
        }
        self.leader = look.groups.iter().find_map(|g| g.owner);
        let other = |owner: &NodeId| *owner != node;
        self.owners = look
            .groups
            .iter()
            .filter_map(|g| Some((g.dispatch_group.clone(), g.owner.filter(other)?)))
            .collect();
        self.hints = look
            .groups
            .iter()
            .filter(|g| !g.ready.is_empty())
            .filter_map(|g| {
                let owner = g.owner.filter(other)?;
                Some(Hint { dispatch_group: g.dispatch_group.clone(), owner, ready: g.ready.clone() })
            })
            .collect();
    }
    pub fn owner_of(&self, group: &DispatchGroup) -> Option<NodeId> {
        self.owners.get(group).copied()
    }
    /// This node put something into another's group, which will be ready there.
    pub fn expect(&mut self, group: &DispatchGroup, queue: &Name, action: &Name) {
        let Some(owner) = self.owner_of(group) else { return };
        let (dispatch_group, pair) = (group.clone(), (queue.clone(), action.clone()));
        match self.hints.iter_mut().find(|h| h.dispatch_group == *group) {
            Some(hint) if hint.ready.contains(&pair) => {}
            Some(hint) => hint.ready.push(pair),
            None => self.hints.push(Hint { dispatch_group, owner, ready: vec![pair] }),
        }
    }
    pub fn wait(
        &mut self,
        signal: SignalId,
        dispatch_group: DispatchGroup,
        then: Then,
        at: (u64, Timestamp),
    ) {
        let (turn, since) = at;
        self.waiting.insert(signal, Waiting { then, dispatch_group, since, turn });
    }
    /// What was asked in turns that were not stored, or not for certain: steps in a late answer still come to their session.
    pub fn unstored(&mut self, durable: u64) -> Vec<Then> {
        let unstored: Vec<(SignalId, Waiting)> = self.waiting.extract_if(|_, w| w.turn > durable).collect();
        for (id, Waiting { then, dispatch_group, since, .. }) in &unstored {
            if let Some(then) = then.in_doubt() {
                let (dispatch_group, since) = (dispatch_group.clone(), *since);
                self.waiting.insert(*id, Waiting { then, dispatch_group, since, turn: durable });
            }
        }
        unstored.into_iter().map(|(_, w)| w.then).collect()
    }
    pub fn all_waiting(&self) -> Vec<SignalId> {
        self.waiting.keys().copied().collect()
    }
    /// Everything that is still waited for.
    pub fn take_waiting(&mut self) -> Vec<Then> {
        self.waiting.drain().map(|(_, w)| w.then).collect()
    }
    /// Nobody has it any more, neither as a question nor as an answer.
    pub fn vanished(&mut self, signals: &[SignalId], now: Timestamp) -> Vec<Then> {
        let long = |w: &Waiting| now.since(w.since) >= 2 * ANSWER_MAX;
        let gone: Vec<SignalId> =
            signals.iter().copied().filter(|id| self.waiting.get(id).is_some_and(long)).collect();
        gone.into_iter().filter_map(|id| self.waiting.remove(&id)).map(|w| w.then).collect()
    }
    pub fn answered(&mut self, signal: SignalId) -> Option<Then> {
        self.waiting.remove(&signal).map(|w| w.then)
    }
    pub fn is_asked(&self, session: SessionId, owner: NodeId) -> bool {
        self.waiting.values().any(|w| match &w.then {
            Then::Pull { session: s, owner: o, places } => *places > 0 && *s == session && *o == owner,
            Then::Tell(_) | Then::Reported { .. } | Then::Begin { .. } => false,
        })
    }
    /// Signals whose answer did not come in time.
    pub fn overdue(&self, now: Timestamp) -> Vec<SignalId> {
        let max = |w: &Waiting| match w.then {
            Then::Tell(_) | Then::Reported { .. } | Then::Begin { .. } => ANSWER_MAX,
            Then::Pull { .. } => PULL_MAX,
        };
        self.waiting.iter().filter(|(_, w)| now.since(w.since) >= max(w)).map(|(id, _)| *id).collect()
    }
    /// It was taken back before anybody dealt with it, and what to tell whoever waits.
    pub fn give_up(&mut self, signal: SignalId) -> Option<(Then, EngineError)> {
        let Waiting { then, dispatch_group, .. } = self.waiting.remove(&signal)?;
        let problem = format!("no node decides for dispatch group `{dispatch_group}` now; try again");
        Some((then, EngineError::Unavailable(StoreError::Down(problem))))
    }
    /// True unless a turn that is on its way has it already. One that is alone in its turn is to blame if that fails.
    pub fn take(&mut self, signal: SignalId, turn: u64, alone: bool) -> bool {
        let fresh = self.taken.insert(signal, turn).is_none();
        if fresh && alone {
            *self.tries.entry(signal).or_default() += 1;
        }
        fresh
    }
    /// The owner of a step's line is told that another has its place.
    pub fn replaces(&mut self, step: StepId, turn: u64) {
        self.replaced.insert(step, turn);
    }
    /// That is on its way, and cannot be read yet.
    pub fn is_replaced(&self, step: StepId) -> bool {
        self.replaced.contains_key(&step)
    }
    /// The owners of some lines are told that steps of this block end.
    pub fn fells(&mut self, block: BlockId, turn: u64) {
        self.falling.insert(block, turn);
    }
    /// That is on its way, and cannot be read yet.
    pub fn is_falling(&self, block: BlockId) -> bool {
        self.falling.contains_key(&block)
    }
    /// No turn with it could be stored.
    pub fn is_hopeless(&self, signal: SignalId) -> bool {
        self.tries.get(&signal).is_some_and(|n| *n > TRIES_MAX)
    }
    pub fn durable(&mut self, turn: u64) {
        for (signal, _) in self.taken.extract_if(|_, in_turn| *in_turn <= turn) {
            self.tries.remove(&signal);
        }
        self.replaced.retain(|_, in_turn| *in_turn > turn);
        self.falling.retain(|_, in_turn| *in_turn > turn);
    }
    /// Nothing of what was taken in was stored.
    pub fn forget_taken(&mut self) {
        self.taken.clear();
        self.replaced.clear();
        self.falling.clear();
    }
}
