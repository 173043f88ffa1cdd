//! One minute of what a node did, for charts: how much, and how long it waited and ran.

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Where the counts of a spread divide, in milliseconds: from what a machine does to what a person waits for.
const BOUNDS_MS: [f64; 18] = [
    1.0,
    2.5,
    5.0,
    10.0,
    25.0,
    50.0,
    100.0,
    250.0,
    500.0,
    1_000.0,
    2_500.0,
    5_000.0,
    10_000.0,
    30_000.0,
    60_000.0,
    300_000.0,
    1_800_000.0,
    7_200_000.0,
];

const SLOTS: usize = BOUNDS_MS.len() + 1;

/// How many spans were how long; two of them add up, however many spans they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Spread(Vec<u64>);

impl Spread {
    pub fn add(&mut self, span: Duration) {
        let ms = span.as_secs_f64() * 1e3;
        self.0.resize(SLOTS, 0);
        self.0[BOUNDS_MS.partition_point(|bound| *bound < ms)] += 1;
    }

    pub fn merge(&mut self, other: &Spread) {
        self.0.resize(SLOTS, 0);
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// What so large a share of them did not exceed, as exactly as the bounds tell; none of nothing.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let wanted = (self.count() as f64 * share.clamp(0.0, 1.0)).max(f64::MIN_POSITIVE);
        let mut below = 0.0;
        for (slot, n) in self.0.iter().enumerate().filter(|(_, n)| **n > 0) {
            let n = *n as f64;
            if below + n >= wanted {
                let (from, to) = bounds(slot);
                return Some(Duration::from_secs_f64((from + (to - from) * (wanted - below) / n) / 1e3));
            }
            below += n;
        }
        None
    }
}

/// What is longer than the longest bound is told as that long.
fn bounds(slot: usize) -> (f64, f64) {
    let from = slot.checked_sub(1).map_or(0.0, |before| BOUNDS_MS[before]);
    (from, BOUNDS_MS.get(slot).copied().unwrap_or(from))
}

/// What happened to steps in one minute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Minute {
    /// When it began.
    pub at: Timestamp,
    pub created: u64,
    /// Attempts that were given to a worker or a queue.
    pub started: u64,
    pub completed: u64,
    /// Failed, stopped or timed out.
    pub failed: u64,
    /// Ended in any other way.
    pub ended: u64,
    /// From when a step could start until it was given to somebody.
    pub waits: Spread,
    /// From start to end, of steps that ended.
    pub runs: Spread,
}

impl Minute {
    pub const LONG: Duration = Duration::from_secs(60);

    /// The beginning of the minute that an instant lies in.
    pub fn of(now: Timestamp) -> Timestamp {
        let long = Minute::LONG.as_micros() as i64;
        Timestamp(now.0.div_euclid(long) * long)
    }

    pub fn merge(&mut self, other: &Minute) {
        self.created += other.created;
        self.started += other.started;
        self.completed += other.completed;
        self.failed += other.failed;
        self.ended += other.ended;
        self.waits.merge(&other.waits);
        self.runs.merge(&other.runs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spans in milliseconds; the median and what one in twenty exceeds, in milliseconds.
    fn told(spans: &str) -> String {
        let mut spread = Spread::default();
        spans
            .split_whitespace()
            .for_each(|ms| spread.add(Duration::from_secs_f64(ms.parse::<f64>().unwrap() / 1e3)));
        let ms = |share| {
            spread.quantile(share).map_or("none".into(), |span| format!("{:.2}", span.as_secs_f64() * 1e3))
        };
        format!("{} {}", ms(0.5), ms(0.95))
    }

    #[test]
    fn a_spread_knows_its_quantiles_to_its_bounds() {
        assert_eq!(told(""), "none none");
        assert_eq!(told("0"), "0.50 0.95");
        assert_eq!(told("3 3 3 3"), "3.75 4.88");
        assert_eq!(told("1 1 1 1 1 1 1 1 1 90"), "0.56 75.00");
        assert_eq!(told("99999999"), "7200000.00 7200000.00");
    }

    #[test]
    fn spreads_add_up_whatever_they_hold() {
        let (mut one, mut two) = (Spread::default(), Spread::default());
        one.merge(&two);
        assert_eq!(one.count(), 0);
        two.add(Duration::from_millis(7));
        one.merge(&two);
        one.merge(&two);
        assert_eq!(one.count(), 2);
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Spread>(&text).unwrap(), one);
    }

    #[test]
    fn a_minute_begins_with_its_minute() {
        assert_eq!(Minute::of(Timestamp(61_000_000)), Timestamp(60_000_000));
        assert_eq!(Minute::of(Timestamp(60_000_000)), Timestamp(60_000_000));
        assert_eq!(Minute::of(Timestamp(-1)), Timestamp(-60_000_000));
    }
}
