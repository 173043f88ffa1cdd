//! The server's clock: what it said when it was last asked, and the time that has passed here since.
//!
//! Why    the machine's own clock may be wrong, or set right with a jump; neither may move what nodes agree on.

use crate::Clock;
use model::Timestamp;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Microseconds of the server, for a select list.
pub const SERVER_NOW: &str = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";

pub struct ServerClock {
    told: Mutex<(Timestamp, Instant)>,
    latest: AtomicI64,
}

#[expect(clippy::disallowed_methods, reason = "only how much time has passed since the server told its own")]
fn instant() -> Instant {
    Instant::now()
}

impl Default for ServerClock {
    fn default() -> Self {
        ServerClock { told: Mutex::new((Timestamp(0), instant())), latest: AtomicI64::new(0) }
    }
}

impl ServerClock {
    pub fn compare(&self, server: Timestamp) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = (server, instant());
    }
}

impl Clock for ServerClock {
    fn now(&self) -> Timestamp {
        let (told, at) = *self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = (told + instant().duration_since(at)).0;
        Timestamp(self.latest.fetch_max(now, Ordering::Relaxed).max(now))
    }
}
