//! How long to wait before the next execution: exponential, capped, with jitter that can be replayed.

use model::{Backoff, StepId, limits};
use std::time::Duration;

/// The wait before execution `failed + 1`. Jitter takes up to a tenth off, by a hash of the step and the attempt, so
/// that a thousand steps that failed together do not come back together, and a replay waits just as long.
pub fn delay(policy: &Backoff, step: StepId, failed: u32) -> Duration {
    let exponent = failed.saturating_sub(1).min(64) as i32;
    let seconds = policy.delay.as_secs_f64() * policy.factor.max(1.0).powi(exponent);
    let cap = policy.max_delay.min(limits::WAIT_MAX).as_secs_f64();
    let full = if seconds.is_finite() { seconds.min(cap) } else { cap };
    let part = (mix(step, failed) % 1_000) as f64 / 10_000.0;
    Duration::from_secs_f64(full * (1.0 - part))
}

/// A small hash (splitmix64) of a step and a number.
fn mix(step: StepId, n: u32) -> u64 {
    let (high, low) = step.0.as_u64_pair();
    let mut z = high ^ low.rotate_left(32) ^ u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_its_cap_and_repeats_itself() {
        let policy =
            Backoff { delay: Duration::from_secs(1), factor: 2.0, max_delay: Duration::from_secs(60) };
        let waits: Vec<u64> = (1..=8).map(|n| delay(&policy, StepId::of(7), n).as_millis() as u64).collect();
        for (n, wait) in waits.iter().enumerate() {
            let full = (1_000 << n).min(60_000);
            assert!((full * 9 / 10..=full).contains(wait), "attempt {n}: {wait} ms of {full}");
        }
        assert_eq!(
            waits,
            (1..=8).map(|n| delay(&policy, StepId::of(7), n).as_millis() as u64).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_wild_factor_still_has_a_cap() {
        let policy = Backoff { delay: Duration::from_secs(3600), factor: f64::MAX, max_delay: Duration::MAX };
        assert!(delay(&policy, StepId::of(1), 60) <= limits::WAIT_MAX);
    }
}
