//! The server's clock, followed by what this machine's clock was off when they were last compared.

use crate::{Clock, SystemClock};
use model::Timestamp;
use std::sync::atomic::{AtomicI64, Ordering};

/// Microseconds of the server, for a select list.
pub const SERVER_NOW: &str = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";

#[derive(Default)]
pub struct ServerClock {
    machine: SystemClock,
    ahead: AtomicI64,
    latest: AtomicI64,
}

impl ServerClock {
    pub fn compare(&self, server: Timestamp) {
        self.ahead.store(server.0 - self.machine.now().0, Ordering::Relaxed);
    }
}

impl Clock for ServerClock {
    fn now(&self) -> Timestamp {
        let now = self.machine.now().0 + self.ahead.load(Ordering::Relaxed);
        Timestamp(self.latest.fetch_max(now, Ordering::Relaxed).max(now))
    }
}
