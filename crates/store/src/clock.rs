//! The one place that reads the clock; everyone else is given `now`.

use model::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// The machine's clock, never backwards within a process.
#[derive(Default)]
pub struct SystemClock {
    latest: AtomicI64,
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        Timestamp(self.latest.fetch_max(micros, Ordering::Relaxed).max(micros))
    }
}

/// A clock that a test moves by hand.
#[derive(Clone)]
pub struct SimClock(Arc<AtomicI64>);

impl Default for SimClock {
    fn default() -> Self {
        SimClock(Arc::new(AtomicI64::new(1_800_000_000_000_000)))
    }
}

impl SimClock {
    pub fn at(now: Timestamp) -> SimClock {
        SimClock(Arc::new(AtomicI64::new(now.0)))
    }
    pub fn advance(&self, span: Duration) {
        self.0.fetch_add(i64::try_from(span.as_micros()).unwrap_or(0), Ordering::SeqCst);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}
