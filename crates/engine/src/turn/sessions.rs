//! Sessions of this node: what they offer, what they hold, and until when they are believed.

use crate::request::Handed;
use model::{Name, Session, SessionId, SessionOffer, StepId, Timestamp, limits};
use rules::board::IdMap;
use std::collections::{BTreeMap, HashSet};
use tokio::sync::mpsc;

pub struct Live {
    pub session: Session,
    pub hand: mpsc::UnboundedSender<Handed>,
    /// Takes no more work.
    pub leaving: bool,
    /// What it was given, with the attempt and the number of the hand-out.
    pub held: IdMap<StepId, (u32, u64)>,
    pub handed: u64,
    pub started_at: Timestamp,
}

#[derive(Default)]
pub struct Sessions {
    live: BTreeMap<SessionId, Live>,
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
        let live = Live { session, hand, leaving: false, held: IdMap::default(), handed: 0, started_at: now };
        self.live.insert(id, live);
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
        self.live.remove(&id)
    }
    pub fn gave(&mut self, id: SessionId, step: StepId, attempt: u32, number: u64) {
        if let Some(live) = self.live.get_mut(&id) {
            live.held.insert(step, (attempt, number));
            live.session.held = live.held.len();
        }
    }
    /// The steps a session holds, oldest first: what is decided for them must not depend on how a map is laid out.
    pub fn held_by(&self, id: SessionId) -> Vec<StepId> {
        let mut held: Vec<StepId> =
            self.live.get(&id).into_iter().flat_map(|live| live.held.keys()).copied().collect();
        held.sort_unstable();
        held
    }
    /// A session holds a step no more; with an attempt, only if it is that one it holds.
    pub fn took_back(&mut self, id: SessionId, step: StepId, attempt: Option<u32>) {
        if let Some(live) = self.live.get_mut(&id)
            && live.held.get(&step).is_some_and(|(held, _)| attempt.is_none_or(|a| a == *held))
        {
            live.held.remove(&step);
            live.session.held = live.held.len();
        }
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
    pub fn forget_held(&mut self) {
        for live in self.live.values_mut() {
            live.held.clear();
            live.session.held = 0;
        }
    }
    /// Sessions that take work; one whose other end is gone takes none.
    fn takers(&self) -> impl Iterator<Item = &Live> {
        self.live.values().filter(|l| !l.leaving && !l.hand.is_closed())
    }
    /// Sessions that can take work now.
    pub fn open(&self) -> Vec<Session> {
        self.takers().filter(|l| l.session.free() > 0).map(|l| l.session.clone()).collect()
    }
    pub fn free(&self) -> usize {
        self.takers().map(|l| l.session.free()).sum()
    }
    /// Every queue and action that some session takes.
    pub fn wanted(&self) -> HashSet<(Name, Name)> {
        let offers = self.takers().map(|l| &l.session.offer);
        offers
            .flat_map(|o| o.queues.iter().flat_map(|q| o.actions.iter().map(|a| (q.clone(), a.clone()))))
            .collect()
    }
    pub fn lapsed(&self, now: Timestamp) -> Vec<SessionId> {
        let gone = |l: &&Live| l.session.lease_ends_at <= now || l.hand.is_closed();
        self.live.values().filter(gone).map(|l| l.session.id).collect()
    }
    pub fn next_lapse(&self) -> Option<Timestamp> {
        self.live.values().map(|l| l.session.lease_ends_at).min()
    }
}
