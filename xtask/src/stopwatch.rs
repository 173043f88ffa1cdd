//! The only place of xtask that measures time.

use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "chores measure their own stages")]
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
