//! How long everything waits, as functions of what happened so far.

use std::time::Duration;

const DELAY_MIN: Duration = Duration::from_secs(1);
const DELAY_MAX: Duration = Duration::from_secs(43_200);

/// An answer that says "not now".
const PUT_OFF: [u64; 5] = [5, 10, 20, 40, 60];
const PUT_OFF_MAX: u64 = 60;
const CALLS_MAX: u32 = 3;

const POLL_BACKOFF: Duration = Duration::from_millis(500);
const POLL_BACKOFF_MAX: Duration = Duration::from_secs(30);
/// A queue that says "nothing" sooner than this did not wait for anything.
const POLL_HASTE: Duration = Duration::from_millis(500);
const POLL_REST: Duration = Duration::from_secs(1);
const POLL_REST_PARTIAL: Duration = Duration::from_millis(20);
const POLL_REST_TURNED_AWAY: Duration = Duration::from_millis(100);

/// What a queue can be asked for.
pub fn clamp(delay: Duration) -> Duration {
    delay.clamp(DELAY_MIN, DELAY_MAX)
}

/// The wait after an answer put the message off for the so-many-th time, counted from one; what the answer asks for is the
/// least, as far as the longest wait allows.
pub fn put_off(times: u32, asked_seconds: Option<u64>) -> Duration {
    let step = (times.max(1) as usize - 1).min(PUT_OFF.len() - 1);
    let seconds = PUT_OFF[step].max(asked_seconds.unwrap_or(0)).min(PUT_OFF_MAX);
    clamp(Duration::from_secs(seconds))
}

/// The pause before a target is called again for the same delivery, if it is: 1, 2, … seconds after the first, second, … call.
pub fn between_calls(calls_made: u32) -> Option<Duration> {
    (calls_made < CALLS_MAX).then(|| Duration::from_secs(u64::from(calls_made)))
}

/// How a poll went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    /// As many as were asked for.
    Full,
    Partial,
    /// Some came, but there was room for none.
    TurnedAway,
    Empty {
        after: Duration,
    },
    /// So many failures in a row.
    Failed(u32),
}

/// The rest before the next poll; routers of different names rest differently after a failure.
pub fn after_poll(polled: Polled, name: &str) -> Duration {
    match polled {
        Polled::Full => Duration::ZERO,
        Polled::Partial => POLL_REST_PARTIAL,
        Polled::TurnedAway => POLL_REST_TURNED_AWAY,
        Polled::Empty { after } if after < POLL_HASTE => POLL_REST,
        Polled::Empty { .. } => Duration::ZERO,
        Polled::Failed(times) => {
            let doubled = POLL_BACKOFF * (1 << times.clamp(1, 16).saturating_sub(1));
            let whole = doubled.min(POLL_BACKOFF_MAX);
            whole / 2 + whole.mul_f64(share(name, times) / 2.0)
        }
    }
}

/// Between 0 and 1, the same for the same name and number (FNV-1a).
fn share(name: &str, times: u32) -> f64 {
    let bytes = name.bytes().chain(times.to_be_bytes());
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    f64::from(hash) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_puts_off_is_waited_for_ever_longer() {
        let seconds = |asked| (1..=7).map(|n| put_off(n, asked).as_secs()).collect::<Vec<_>>();
        assert_eq!(seconds(None), [5, 10, 20, 40, 60, 60, 60]);
        assert_eq!(seconds(Some(0)), [5, 10, 20, 40, 60, 60, 60]);
        assert_eq!(seconds(Some(30)), [30, 30, 30, 40, 60, 60, 60]);
        assert_eq!(seconds(Some(u64::MAX)), [60; 7]);
        assert_eq!(put_off(0, None).as_secs(), 5);
    }

    #[test]
    fn a_target_is_called_three_times() {
        let pauses: Vec<_> = (1..=4).map(|n| between_calls(n).map(|pause| pause.as_secs())).collect();
        assert_eq!(pauses, [Some(1), Some(2), None, None]);
    }

    #[test]
    fn delays_stay_within_what_queues_take() {
        let clamped = |seconds| clamp(Duration::from_secs(seconds)).as_secs();
        assert_eq!([0, 1, 30, 43_200, u64::MAX].map(clamped), [1, 1, 30, 43_200, 43_200]);
    }

    #[test]
    fn no_poll_spins_and_failures_wait_longer_but_not_for_ever() {
        let after = |polled| after_poll(polled, "a").as_millis();
        assert_eq!(after(Polled::Full), 0);
        assert_eq!(after(Polled::Empty { after: Duration::from_secs(20) }), 0);
        assert_eq!(after(Polled::Empty { after: Duration::ZERO }), 1_000);
        assert!(after(Polled::TurnedAway) > 0 && after(Polled::Partial) > 0);
        for (times, whole) in [(1, 500), (2, 1_000), (3, 2_000), (7, 30_000), (u32::MAX, 30_000)] {
            let rest = after(Polled::Failed(times));
            assert!((whole / 2..=whole).contains(&rest), "{times} failures: {rest} ms");
        }
        assert_ne!(after_poll(Polled::Failed(9), "a"), after_poll(Polled::Failed(9), "b"));
    }
}
