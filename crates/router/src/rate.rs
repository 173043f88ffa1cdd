//! Calls that begin, evenly spread over time, with at most a second's worth at once (GCRA).
//!
//! Why    a single instant is all that is kept, so a new rate holds from the next call on. `now` is time since the router
//!        started.

use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub struct Rate {
    per_minute: Option<u32>,
    /// When the calls made so far would all have been due, had they come evenly.
    due: Duration,
}

impl Rate {
    pub fn new(per_minute: Option<u32>) -> Rate {
        Rate { per_minute, due: Duration::ZERO }
    }

    /// A debt made at another rate is forgiven but for one call.
    pub fn set(&mut self, per_minute: Option<u32>, now: Duration) {
        if self.per_minute != per_minute {
            self.per_minute = per_minute;
            self.due = self.due.min(now + self.interval());
        }
    }

    /// How long until the next call may begin; none at all for a rate of zero.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        match self.per_minute {
            None => Some(Duration::ZERO),
            Some(0) => None,
            Some(rate) => {
                let burst = (rate / 60).max(1);
                Some(self.due.saturating_sub(now + self.interval() * (burst - 1)))
            }
        }
    }

    /// A call begins.
    pub fn take(&mut self, now: Duration) {
        self.due = self.due.max(now) + self.interval();
    }

    fn interval(&self) -> Duration {
        self.per_minute.filter(|rate| *rate > 0).map_or(Duration::ZERO, |rate| MINUTE / rate)
    }
}

#[cfg(test)]
mod tests {
    use super::Rate;
    use std::time::Duration;

    /// Begins calls as soon as it may, until the end.
    fn begins(rate: &mut Rate, from: Duration, until: Duration) -> Vec<u128> {
        let (mut now, mut begins) = (from, Vec::new());
        while let Some(wait) = rate.wait(now) {
            now += wait;
            if now >= until || begins.len() > 1_000 {
                break;
            }
            rate.take(now);
            begins.push(now.as_millis());
        }
        begins
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn calls_are_spread_evenly() {
        assert_eq!(begins(&mut Rate::new(Some(30)), SECOND, SECOND * 7), [1_000, 3_000, 5_000]);
        assert_eq!(begins(&mut Rate::new(Some(120)), SECOND, SECOND * 2), [1_000, 1_000, 1_500]);
        assert_eq!(begins(&mut Rate::new(Some(0)), SECOND, SECOND * 60), [0; 0]);
        assert!(begins(&mut Rate::new(None), SECOND, SECOND * 2).len() > 1_000);
    }

    #[test]
    fn a_minute_never_has_more_than_a_second_above_the_rate() {
        for rate in [1, 59, 60, 61, 600, 900] {
            let made = begins(&mut Rate::new(Some(rate)), SECOND, SECOND * 61).len();
            assert!(made as u32 <= rate + (rate / 60).max(1), "{made} at {rate} a minute");
            assert!(made as u32 >= rate, "{made} at {rate} a minute");
        }
    }

    #[test]
    fn a_new_rate_holds_at_once() {
        let mut rate = Rate::new(Some(1));
        rate.take(SECOND);
        assert_eq!(rate.wait(SECOND), Some(SECOND * 60));
        rate.set(Some(60), SECOND);
        assert_eq!(rate.wait(SECOND), Some(SECOND));
        rate.set(Some(1), SECOND * 2);
        rate.take(SECOND * 2);
        assert_eq!(rate.wait(SECOND * 2), Some(SECOND * 60));
        rate.set(None, SECOND * 2);
        assert_eq!(rate.wait(SECOND * 2), Some(Duration::ZERO));
    }
}
