//! How many steps of a pool may start now, and when the next may.
//!
//! Why    places come from the steps that run and from nothing else, so no crash can lose one. The rate is one instant: until
//!        when the starts so far would have lasted had they come evenly (GCRA), which needs no window and no clean-up.

use model::{Pool, PoolUse, Rate, Timestamp};

/// How many may start now.
pub fn allowed(pool: &PoolUse, now: Timestamp) -> usize {
    let places = pool.pool.concurrency.map_or(usize::MAX, |n| (n as usize).saturating_sub(pool.used));
    let starts = pool.pool.rate.map_or(usize::MAX, |rate| in_rate(&rate, pool.full_until, now));
    places.min(starts)
}

/// Until when the rate is used up once so many more have started.
pub fn after(pool: &Pool, full_until: Timestamp, now: Timestamp, started: usize) -> Timestamp {
    match pool.rate {
        Some(rate) if started > 0 => {
            let more = rate.spacing().saturating_mul(i64::try_from(started).unwrap_or(i64::MAX));
            Timestamp(bounded(&rate, full_until, now).max(now).0.saturating_add(more))
        }
        _ => full_until,
    }
}

/// When the rate alone lets the next one start; none when it does now.
pub fn next_start(pool: &PoolUse, now: Timestamp) -> Option<Timestamp> {
    let rate = pool.pool.rate?;
    let at = Timestamp(bounded(&rate, pool.full_until, now).0.saturating_sub(tolerance(&rate)));
    (at > now).then_some(at)
}

fn in_rate(rate: &Rate, full_until: Timestamp, now: Timestamp) -> usize {
    let full_until = bounded(rate, full_until, now).max(now);
    let room = now.0.saturating_add(tolerance(rate)).saturating_sub(full_until.0);
    if room < 0 { 0 } else { (room / rate.spacing().max(1)) as usize + 1 }
}

/// No start of this rate leaves it used up for longer; one of a slower rate before may have, or a clock that went back.
fn bounded(rate: &Rate, full_until: Timestamp, now: Timestamp) -> Timestamp {
    full_until.min(Timestamp(now.0.saturating_add(tolerance(rate)).saturating_add(rate.spacing())))
}

fn tolerance(rate: &Rate) -> i64 {
    rate.spacing().saturating_mul(i64::from(rate.burst) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn pool(rate: &str, burst: u32) -> PoolUse {
        let rate = Rate { burst, ..rate.parse().unwrap() };
        let pool = Pool { rate: Some(rate), ..Pool::new("card") };
        PoolUse { pool, used: 0, full_until: Timestamp(0) }
    }
    /// Starts whatever may start, every tenth of a second.
    fn starts(mut pool: PoolUse, tenths: i64) -> Vec<usize> {
        let mut all = Vec::new();
        for tenth in 0..tenths {
            let now = Timestamp(1_000_000 + tenth * 100_000);
            let n = allowed(&pool, now);
            pool.full_until = after(&pool.pool, pool.full_until, now, n);
            all.push(n);
        }
        all
    }

    #[test]
    fn starts_are_spread_evenly_after_the_burst() {
        assert_eq!(starts(pool("5/s", 1), 9), [1, 0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(starts(pool("5/s", 3), 7), [3, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn places_are_what_is_not_used() {
        let pool = Pool { concurrency: Some(3), ..Pool::new("card") };
        let used =
            |used| allowed(&PoolUse { pool: pool.clone(), used, full_until: Timestamp(0) }, Timestamp(5));
        assert_eq!([used(0), used(2), used(3), used(9)], [3, 1, 0, 0]);
    }

    #[test]
    fn a_faster_rate_does_not_wait_for_the_slower_one() {
        let (slow, fast, now) = (pool("1/d", 1), pool("10/s", 1), Timestamp(7_000_000));
        let full_until = after(&slow.pool, Timestamp(0), now, 1);
        let next = next_start(&PoolUse { full_until, ..fast }, now);
        assert_eq!(next, Some(now + Duration::from_millis(100)));
    }

    #[test]
    fn who_waits_is_told_until_when() {
        let mut one = pool("1/m", 1);
        let now = Timestamp(7_000_000);
        assert_eq!(next_start(&one, now), None);
        one.full_until = after(&one.pool, one.full_until, now, 1);
        assert_eq!(next_start(&one, now), Some(now + Duration::from_secs(60)));
    }

    proptest! {
        /// In any span, at most the rate and the burst.
        #[test]
        fn no_span_has_more_than_the_rate(n in 1u32..50, burst in 1u32..10, gaps in prop::collection::vec(0i64..2_000_000, 1..60)) {
            let mut one = pool(&format!("{n}/s"), burst);
            let (mut now, mut started) = (0, Vec::new());
            for gap in gaps {
                now += gap;
                let k = allowed(&one, Timestamp(now));
                one.full_until = after(&one.pool, one.full_until, Timestamp(now), k);
                started.extend(std::iter::repeat_n(now, k));
            }
            for (i, from) in started.iter().enumerate() {
                let within = started[i..].iter().take_while(|at| **at < from + 1_000_000).count();
                prop_assert!(within <= (n + burst) as usize, "{within} in a second");
            }
        }
    }
}
