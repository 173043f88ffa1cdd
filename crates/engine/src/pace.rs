//! When a turn is worth deciding.
//!
//! Why    a commit costs almost the same for one request as for fifty. A few requests that come while another turn syncs wait for
//!        its end, and callers who were just answered together get a moment to come back together: eight of them share one
//!        commit instead of two. A turn that is large, or has work of its own to do, is decided while the one before it syncs.

use crate::Stopwatch;
use std::collections::VecDeque;
use std::time::Duration;

/// Turns that may be decided and not yet durable.
const TURNS_AHEAD: usize = 2;
/// Fewer steps than this wait for company.
const LARGE: usize = 64;
/// The longest that those who come back are waited for. Whoever misses a commit waits for the whole of it, so its own time may be worth it.
const LONGEST: Duration = Duration::from_millis(1);

#[derive(Default)]
pub struct Pace {
    /// Turns on their way to disk: since when, and how many callers each will answer.
    sent: VecDeque<(Stopwatch, usize)>,
    back: Option<Back>,
    /// How long those who were answered last took to come back, if all did in time.
    took: Option<Duration>,
}

/// Callers who were answered a moment ago.
struct Back {
    since: Stopwatch,
    span: Duration,
    missing: usize,
}

impl Pace {
    /// How many turns may be on their way when the next is decided.
    pub fn ahead(weight: usize, has_own_work: bool) -> usize {
        if weight >= LARGE || has_own_work { TURNS_AHEAD } else { 1 }
    }
    pub fn sent(&mut self, callers: usize) {
        self.sent.push_back((Stopwatch::start(), callers));
    }
    pub fn committed(&mut self) {
        let Some((since, callers)) = self.sent.pop_front() else { return };
        let span = worth(since.elapsed(), self.took);
        self.back = (callers > 1).then(|| Back { since: Stopwatch::start(), span, missing: callers });
    }
    pub fn came(&mut self) {
        if let Some(back) = &mut self.back {
            back.missing -= 1;
            if back.missing == 0 {
                self.took = Some(back.since.elapsed());
                self.back = None;
            }
        }
    }
    /// How long those who are waiting should go on waiting for the others.
    pub fn patience(&mut self, weight: usize) -> Duration {
        let left = match &self.back {
            Some(back) if weight < LARGE => back.span.saturating_sub(back.since.elapsed()),
            _ => Duration::ZERO,
        };
        if left.is_zero() && self.back.take().is_some() && weight < LARGE {
            self.took = None;
        }
        left
    }
    /// What was on its way is gone.
    pub fn forget(&mut self) {
        *self = Pace::default();
    }
}

/// How long it is worth to wait for those who come back: three times as long as they took the last time, or half of a commit where they
/// did not come.
fn worth(commit: Duration, took: Option<Duration>) -> Duration {
    took.map_or(commit / 2, |took| took * 3).min(commit).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_wait_for_the_turn_before_them_and_many_do_not() {
        assert_eq!(Pace::ahead(8, false), 1);
        assert_eq!(Pace::ahead(LARGE, false), TURNS_AHEAD);
        assert_eq!(Pace::ahead(0, true), TURNS_AHEAD);
    }

    #[test]
    fn those_who_were_answered_together_are_waited_for_until_all_are_back() {
        let mut pace = Pace::default();
        pace.sent(1);
        pace.committed();
        assert_eq!(pace.patience(1), Duration::ZERO, "one alone has nobody to wait for");
        pace.back = Some(Back { since: Stopwatch::start(), span: Duration::from_secs(60), missing: 2 });
        pace.came();
        assert!(!pace.patience(1).is_zero());
        assert_eq!(pace.patience(LARGE), Duration::ZERO);
        pace.back = Some(Back { since: Stopwatch::start(), span: Duration::from_secs(60), missing: 1 });
        pace.came();
        assert_eq!(pace.patience(1), Duration::ZERO);
        assert!(pace.took.is_some());
    }

    #[test]
    fn they_are_waited_for_as_long_as_they_took_before_unless_they_did_not_come() {
        let us = Duration::from_micros;
        assert_eq!((worth(us(800), None), worth(us(800), Some(us(50)))), (us(400), us(150)));
        assert_eq!(worth(us(800), Some(us(500))), us(800), "not longer than a commit");
        assert_eq!(worth(us(9_000), Some(us(5_000))), LONGEST);
        let mut pace = Pace { took: Some(us(50)), ..Pace::default() };
        let late = || Some(Back { since: Stopwatch::start(), span: Duration::ZERO, missing: 1 });
        pace.back = late();
        assert_eq!(pace.patience(LARGE), Duration::ZERO);
        assert!(pace.took.is_some(), "many need not wait");
        pace.back = late();
        assert_eq!((pace.patience(1), pace.took), (Duration::ZERO, None));
    }
}
