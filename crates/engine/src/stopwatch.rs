//! The one place that measures how long something took.

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that measures durations")]
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
    /// The time until another watch was started; zero when that was before.
    pub fn until(&self, later: Stopwatch) -> Duration {
        later.0.saturating_duration_since(self.0)
    }
    /// The time since the start or the last lap.
    pub fn lap(&mut self) -> Duration {
        let now = Stopwatch::start();
        let span = now.0 - self.0;
        *self = now;
        span
    }
}
