//! The one place where ids are made.

use model::{NodeId, SessionId};
use uuid::{ContextV7, Timestamp, Uuid};

/// UUIDv7 in strictly rising order, so that the order of ids is the order of creation.
pub struct Ids {
    context: ContextV7,
}

impl Default for Ids {
    fn default() -> Self {
        Ids { context: ContextV7::new() }
    }
}

impl Ids {
    /// An id for a row, from the turn's own time.
    pub fn row(&self, now: model::Timestamp) -> [u8; 16] {
        let micros = now.0.unsigned_abs();
        let timestamp =
            Timestamp::from_unix(&self.context, micros / 1_000_000, (micros % 1_000_000 * 1_000) as u32);
        Uuid::new_v7(timestamp).into_bytes()
    }
    pub fn session(&self, now: model::Timestamp) -> SessionId {
        SessionId::from_bytes(self.row(now))
    }
    pub fn node(&self, now: model::Timestamp) -> NodeId {
        NodeId::from_bytes(self.row(now))
    }
}
