//! A session: one running worker process and the lease that covers all steps it holds.

use crate::{Name, SessionId, Timestamp};

/// What a worker says of itself when it connects.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionOffer {
    pub host: Name,
    pub queues: Vec<Name>,
    /// Actions it can run; an action nobody offers waits and says so.
    pub actions: Vec<Name>,
    pub capacity: usize,
    /// In another process: it may outlive the node it speaks to, and come back to it or to another.
    pub remote: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub id: SessionId,
    pub offer: SessionOffer,
    pub held: usize,
    pub lease_ends_at: Timestamp,
}

impl Session {
    pub fn free(&self) -> usize {
        self.offer.capacity.saturating_sub(self.held)
    }
    pub fn takes(&self, queue: &str, action: &str) -> bool {
        self.offer.queues.iter().any(|q| &**q == queue) && self.offer.actions.iter().any(|a| &**a == action)
    }
}
