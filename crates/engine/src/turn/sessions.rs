//! Sessions: what they offer, what they hold, and until when they are believed; those of this node, and those of others as
//! far as they hold steps of this node's groups.

use super::secrets::Veiled;
use crate::request::Handed;
use model::{DispatchGroup, Name, NodeId, Session, SessionId, SessionOffer, StepId, Timestamp, limits};
use rules::board::IdMap;
use std::collections::{BTreeMap, HashSet};
use store::SessionRow;
use tokio::sync::mpsc;

/// A step in the hands of a session of this node.
#[derive(Clone)]
pub struct Hold {
    pub attempt: u32,
    /// The number of the hand-out.
    pub number: u64,
    /// Whose owner decides about it.
    pub dispatch_group: DispatchGroup,
    /// The turn of this node that gave it; 0 when it was durable before it was known here.
    pub turn: u64,
    pub veil: Veiled,
}

impl Hold {
    /// As a node finds it that did not give it itself.
    pub fn from_before(attempt: u32, dispatch_group: DispatchGroup) -> Hold {
        Hold { attempt, number: 0, dispatch_group, turn: 0, veil: Veiled::Unknown }
    }
}

pub struct Live {
    pub session: Session,
    pub hand: mpsc::UnboundedSender<Handed>,
    /// Takes no more work.
    pub leaving: bool,
    pub held: IdMap<StepId, Hold>,
    /// What it held before everything was read anew.
    before: IdMap<StepId, Hold>,
    pub handed: u64,
    pub started_at: Timestamp,
    /// What it reported to other nodes, until they have answered.
    pub reported: IdMap<StepId, u32>,
    /// Places for which other nodes were asked for work.
    pub asked: usize,
}

impl Live {
    /// It takes what it is given.
    pub fn is_open(&self) -> bool {
        !self.leaving && !self.hand.is_closed()
    }
    fn count(&mut self) {
        self.session.held = self.held.len() + self.asked;
    }
    pub fn ask(&mut self, places: usize) {
        self.asked += places;
        self.count();
    }
    pub fn asked_in_vain(&mut self, places: usize) {
        self.asked = self.asked.saturating_sub(places);
        self.count();
    }
}

/// A session of another node.
pub struct Elsewhere {
    pub node: NodeId,
    pub offer: SessionOffer,
    pub held: IdMap<StepId, u32>,
}

/// A session in another process whose node has ended: it may come back, and keeps what it holds until its lease ends.
struct Left {
    row: SessionRow,
    held: IdMap<StepId, Hold>,
}

#[derive(Default)]
pub struct Sessions {
    live: BTreeMap<SessionId, Live>,
    elsewhere: BTreeMap<SessionId, Elsewhere>,
    left: BTreeMap<SessionId, Left>,
}

impl Sessions {
    pub fn join(
        &mut self,
        id: SessionId,
        offer: SessionOffer,
        hand: mpsc::UnboundedSender<Handed>,
        now: Timestamp,
    ) {
        let session = Session { id, offer, held: 0, lease_ends_at: now + limits::SESSION_LEASE };
        let (held, reported, before) = Default::default();
        let live = Live {
            session,
            hand,
            leaving: false,
            held,
            before,
            handed: 0,
            started_at: now,
            reported,
            asked: 0,
        };
        self.live.insert(id, live);
    }
    /// A session comes back: to the node it knew, or to one that found what it had left. What it has lost meanwhile, its next
    /// heartbeat tells.
    pub fn join_again(
        &mut self,
        id: SessionId,
        received: u64,
        hand: mpsc::UnboundedSender<Handed>,
        now: Timestamp,
    ) -> bool {
        if let Some(live) = self.live.get_mut(&id) {
            live.hand = hand;
            live.session.lease_ends_at = now + limits::SESSION_LEASE;
            // What was handed out since may be gone with whoever took it for the session.
            live.held.values_mut().filter(|hold| hold.number > received).for_each(|hold| hold.number = 0);
            return true;
        }
        let Some(left) = self.left.remove(&id) else { return false };
        self.join(id, left.row.offer, hand, now);
        self.live.entry(id).and_modify(|live| live.handed = received);
        left.held.into_iter().for_each(|(step, hold)| self.gave(id, step, hold));
        true
    }
    /// Those that came back or live elsewhere are not left behind.
    pub fn leave_behind(&mut self, rows: &[SessionRow], until: Timestamp) {
        self.left.retain(|id, _| rows.iter().any(|row| row.id == *id));
        for row in rows.iter().filter(|row| !self.live.contains_key(&row.id)) {
            let left =
                || Left { row: SessionRow { lease_ends_at: until, ..row.clone() }, held: IdMap::default() };
            self.left.entry(row.id).or_insert_with(left);
        }
    }
    pub fn left(&self, id: SessionId) -> Option<&SessionRow> {
        self.left.get(&id).map(|left| &left.row)
    }
    pub fn ids(&self) -> Vec<SessionId> {
        self.live.keys().copied().collect()
    }
    pub fn get(&self, id: SessionId) -> Option<&Live> {
        self.live.get(&id)
    }
    pub fn get_mut(&mut self, id: SessionId) -> Option<&mut Live> {
        self.live.get_mut(&id)
    }
    pub fn remove(&mut self, id: SessionId) -> Option<Live> {
        self.left.remove(&id);
        self.live.remove(&id)
    }
    pub fn is_known(&self, id: SessionId) -> bool {
        self.live.contains_key(&id) || self.elsewhere.contains_key(&id) || self.left.contains_key(&id)
    }
    pub fn elsewhere(&self, id: SessionId) -> Option<&Elsewhere> {
        self.elsewhere.get(&id)
    }
    /// Other nodes have sessions that want work.
    pub fn any_elsewhere(&self) -> bool {
        !self.elsewhere.is_empty()
    }
    pub fn gave(&mut self, id: SessionId, step: StepId, mut hold: Hold) {
        if let Some(live) = self.live.get_mut(&id) {
            // A worker that has not received it yet must not lose it for that.
            if let Some(known) =
                live.before.get(&step).filter(|b| hold.number == 0 && b.attempt == hold.attempt)
            {
                hold.number = known.number;
            }
            live.held.insert(step, hold);
            live.count();
        } else if let Some(other) = self.elsewhere.get_mut(&id) {
            other.held.insert(step, hold.attempt);
        } else if let Some(left) = self.left.get_mut(&id) {
            left.held.insert(step, hold);
        }
    }
    /// What a session of this node holds, oldest first: what is decided for it must not depend on how a map is laid out.
    pub fn held_by(&self, id: SessionId) -> Vec<(StepId, Hold)> {
        let held = self.live.get(&id).map(|live| &live.held);
        let held = held.or_else(|| self.left.get(&id).map(|left| &left.held)).into_iter().flatten();
        let mut held: Vec<(StepId, Hold)> = held.map(|(step, hold)| (*step, hold.clone())).collect();
        held.sort_unstable_by_key(|(id, _)| *id);
        held
    }
    /// A session holds a step no more; with an attempt, only if it is that one it holds. The node of the session, if it is
    /// another's and held the step until now.
    pub fn took_back(&mut self, id: SessionId, step: StepId, attempt: Option<u32>) -> Option<NodeId> {
        let fits = |held: u32| attempt.is_none_or(|a| a == held);
        if let Some(live) = self.live.get_mut(&id) {
            if live.held.get(&step).is_some_and(|hold| fits(hold.attempt)) {
                live.held.remove(&step);
                live.count();
            }
            return None;
        }
        if let Some(left) = self.left.get_mut(&id) {
            if left.held.get(&step).is_some_and(|hold| fits(hold.attempt)) {
                left.held.remove(&step);
            }
            return None;
        }
        let other = self.elsewhere.get_mut(&id)?;
        let held = other.held.get(&step).is_some_and(|held| fits(*held));
        held.then(|| other.held.remove(&step)).map(|_| other.node)
    }
    /// Sessions of other nodes that were not known yet, if any: what they ask is answered by the turn that first sees them.
    pub fn meet(&mut self, rows: &[SessionRow]) -> bool {
        let n = self.elsewhere.len();
        for row in rows {
            if !self.is_known(row.id) {
                let (node, offer) = (row.node, row.offer.clone());
                self.elsewhere.insert(row.id, Elsewhere { node, offer, held: IdMap::default() });
            }
        }
        self.elsewhere.len() != n
    }
    /// The sessions of other nodes as they are now; what those held that are gone, and whether the offers changed.
    pub fn see(&mut self, rows: Vec<SessionRow>) -> (Vec<(SessionId, Elsewhere)>, bool) {
        let mut before = std::mem::take(&mut self.elsewhere);
        let mut moved = Vec::new();
        let n = before.len();
        for row in rows {
            // One that came back to another node is that node's, and knows of nothing but what that node decides about.
            self.live.remove(&row.id);
            if let Some(left) = self.left.remove(&row.id) {
                let held = left.held.into_iter().map(|(step, hold)| (step, hold.attempt)).collect();
                moved.push((row.id, Elsewhere { node: row.node, offer: row.offer.clone(), held }));
            }
            if before.get(&row.id).is_some_and(|e| e.node != row.node) {
                moved.extend(before.remove(&row.id).map(|e| (row.id, e)));
            }
            let held = before.remove(&row.id).map(|e| e.held).unwrap_or_default();
            self.elsewhere.insert(row.id, Elsewhere { node: row.node, offer: row.offer, held });
        }
        let changed = !before.is_empty() || self.elsewhere.len() != n;
        (before.into_iter().chain(moved).collect(), changed)
    }
    /// It was heard of; a session is not lost while its word waits for a turn.
    pub fn heard(&mut self, id: SessionId, now: Timestamp) {
        if let Some(live) = self.live.get_mut(&id) {
            live.session.lease_ends_at = live.session.lease_ends_at.max(now + limits::SESSION_LEASE);
        }
    }
    /// Nobody could be heard while the store was away.
    pub fn hear_all(&mut self, now: Timestamp) {
        self.live.keys().copied().collect::<Vec<_>>().into_iter().for_each(|id| self.heard(id, now));
    }
    /// What is held of these groups is read anew; what other nodes decide about stays, unless it was given in a turn that was
    /// not stored: that comes back, for the worker never saw it.
    pub fn forget_held(
        &mut self,
        of: impl Fn(&DispatchGroup) -> bool,
        durable: u64,
    ) -> Vec<(SessionId, StepId, Hold)> {
        let mut unsure = Vec::new();
        for (id, live) in &mut self.live {
            live.before = std::mem::take(&mut live.held);
            for (step, hold) in live.before.iter().filter(|(_, hold)| !of(&hold.dispatch_group)) {
                if hold.turn > durable {
                    unsure.push((*id, *step, hold.clone()));
                } else {
                    live.held.insert(*step, hold.clone());
                }
            }
            live.count();
        }
        self.elsewhere.values_mut().for_each(|e| e.held.clear());
        self.left.values_mut().for_each(|left| left.held.clear());
        unsure
    }
    /// Everything was read.
    pub fn forget_before(&mut self) {
        self.live.values_mut().for_each(|live| live.before.clear());
    }
    /// Sessions that take work; one whose other end is gone takes none.
    fn takers(&self) -> impl Iterator<Item = &Live> {
        self.live.values().filter(|l| l.is_open())
    }
    /// Sessions that can take work now.
    pub fn open(&self) -> Vec<Session> {
        self.takers().filter(|l| l.session.free() > 0).map(|l| l.session.clone()).collect()
    }
    pub fn free(&self) -> usize {
        self.takers().map(|l| l.session.free()).sum()
    }
    /// Sessions are there, and none of them has a place left.
    pub fn are_busy(&self) -> bool {
        let (here, elsewhere) = (self.live.values(), self.elsewhere.values());
        let is_full = |held: usize, capacity: usize| held > 0 && held >= capacity;
        let mut full = here.map(|live| is_full(live.held.len(), live.session.offer.capacity));
        let mut all = elsewhere.map(|one| is_full(one.held.len(), one.offer.capacity));
        !(self.live.is_empty() && self.elsewhere.is_empty()) && full.all(|full| full) && all.all(|full| full)
    }
    /// Whether a session has a step of a dispatch group; those of sessions elsewhere are known by their steps alone.
    pub fn have_of(&self, group: &DispatchGroup, of: impl Fn(StepId) -> Option<DispatchGroup>) -> bool {
        let has = |held: &IdMap<StepId, Hold>| held.values().any(|hold| hold.dispatch_group == *group);
        self.live.values().any(|live| has(&live.held))
            || self.left.values().any(|left| has(&left.held))
            || self
                .elsewhere
                .values()
                .flat_map(|one| one.held.keys())
                .any(|id| of(*id).as_ref() == Some(group))
    }
    /// Some session of another node takes this.
    pub fn is_wanted_elsewhere(&self, queue: &Name, action: &Name) -> bool {
        self.elsewhere.values().any(|e| e.offer.queues.contains(queue) && e.offer.actions.contains(action))
    }
    /// Every queue and action that some session takes.
    pub fn wanted(&self) -> HashSet<(Name, Name)> {
        let offers = self.takers().map(|l| &l.session.offer).chain(self.elsewhere.values().map(|e| &e.offer));
        offers
            .flat_map(|o| o.queues.iter().flat_map(|q| o.actions.iter().map(|a| (q.clone(), a.clone()))))
            .collect()
    }
    pub fn lapsed(&self, now: Timestamp) -> Vec<SessionId> {
        // One in another process may come back, whatever became of the end it had here.
        let gone =
            |l: &&Live| l.session.lease_ends_at <= now || l.hand.is_closed() && !l.session.offer.remote;
        let left = self.left.values().filter(|left| left.row.lease_ends_at <= now).map(|left| left.row.id);
        self.live.values().filter(gone).map(|l| l.session.id).chain(left).collect()
    }
    pub fn next_lapse(&self) -> Option<Timestamp> {
        let left = self.left.values().map(|left| left.row.lease_ends_at);
        self.live.values().map(|l| l.session.lease_ends_at).chain(left).min()
    }
}
