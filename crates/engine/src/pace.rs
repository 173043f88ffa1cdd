//! When a turn is worth deciding.
//!
//! Why    a commit costs almost the same for one request as for fifty. A few requests that come while another turn syncs wait for
//!        its end. Callers who were just answered come back: where all are back sooner than sharing a commit is worth, those who
//!        wait already wait for them; where not, they go ahead, and one half asks while the other half is stored. A turn that is
//!        large, or has work of its own to do, is decided while the one before it syncs.

use crate::Stopwatch;
use std::collections::VecDeque;
use std::time::Duration;

/// Turns that may be decided and not yet durable.
const TURNS_AHEAD: usize = 2;
/// Fewer steps than this wait for company.
const LARGE: usize = 64;
/// The longest that those who come back are waited for.
const LONGEST: Duration = Duration::from_millis(1);

pub struct Pace {
    /// How many commits long callers are worth waiting for.
    company: u32,
    /// Turns on their way to disk: since when, and how many callers each will answer.
    sent: VecDeque<(Stopwatch, usize)>,
    back: Option<Back>,
    /// How long it took until those who were answered last were back, for each of them.
    each: Option<Duration>,
}

/// Callers who were answered a moment ago.
struct Back {
    since: Stopwatch,
    span: Duration,
    callers: usize,
    missing: usize,
}

impl Back {
    fn each(&self) -> Duration {
        self.since.elapsed() / (self.callers - self.missing).max(1) as u32
    }
}

impl Pace {
    pub fn new(company: u32) -> Pace {
        Pace { company, sent: VecDeque::new(), back: None, each: None }
    }
    /// How many turns may be on their way when the next is decided.
    pub fn ahead(weight: usize, has_own_work: bool) -> usize {
        if weight >= LARGE || has_own_work { TURNS_AHEAD } else { 1 }
    }
    pub fn sent(&mut self, callers: usize) {
        self.sent.push_back((Stopwatch::start(), callers));
    }
    /// A turn is stored, and so many wait already for the next.
    pub fn committed(&mut self, waiting: usize) {
        let Some((since, callers)) = self.sent.pop_front() else { return };
        if let Some(back) = self.back.take() {
            self.each = Some(back.each());
        }
        let span = worth(since.elapsed() * self.company, self.each, callers + waiting);
        self.back =
            (callers > 1).then(|| Back { since: Stopwatch::start(), span, callers, missing: callers });
    }
    pub fn came(&mut self) {
        if let Some(back) = &mut self.back {
            back.missing -= 1;
            if back.missing == 0 {
                self.each = Some(back.each());
                self.back = None;
            }
        }
    }
    /// How long those who are waiting should go on waiting for the others.
    pub fn patience(&self, weight: usize) -> Duration {
        match &self.back {
            Some(back) if weight < LARGE => back.span.saturating_sub(back.since.elapsed()),
            _ => Duration::ZERO,
        }
    }
    /// What was on its way is gone.
    pub fn forget(&mut self) {
        *self = Pace::new(self.company);
    }
}

/// How long it is worth to wait until all callers are together, of whom each takes so long to come back: not at all where that is more
/// than sharing a commit is worth. Who waits already will be as slow as the others once all are answered together.
fn worth(most: Duration, each: Option<Duration>, callers: usize) -> Duration {
    let span = match each.map(|each| each.saturating_mul(callers as u32)) {
        None => most / 2,
        Some(together) if together < most => (together * 2).min(most),
        Some(_) => Duration::ZERO,
    };
    span.min(LONGEST)
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

    fn answered(span: Duration, callers: usize) -> Option<Back> {
        Some(Back { since: Stopwatch::start(), span, callers, missing: callers })
    }

    #[test]
    fn those_who_were_answered_together_are_waited_for_until_all_are_back() {
        let mut pace = Pace::new(1);
        pace.sent(1);
        pace.committed(0);
        assert_eq!(pace.patience(1), Duration::ZERO, "one alone has nobody to wait for");
        pace.back = answered(Duration::from_secs(60), 2);
        pace.came();
        assert!(!pace.patience(1).is_zero());
        assert_eq!(pace.patience(LARGE), Duration::ZERO);
        pace.came();
        assert_eq!(pace.patience(1), Duration::ZERO);
        assert!(pace.each.is_some());
    }

    #[test]
    fn they_are_waited_for_only_where_all_are_together_sooner_than_it_is_worth() {
        let us = Duration::from_micros;
        assert_eq!(worth(us(800), None, 8), us(400), "nothing is known of them");
        assert_eq!(worth(us(800), Some(us(10)), 8), us(160));
        assert_eq!(worth(us(800), Some(us(90)), 8), us(800), "not longer than it is worth");
        assert_eq!(worth(us(800), Some(us(100)), 8), Duration::ZERO);
        assert_eq!(worth(us(9_000), Some(us(500)), 8), LONGEST);
    }

    #[test]
    fn what_is_known_of_callers_who_never_come_back_is_that_they_take_long() {
        let mut pace = Pace { back: answered(Duration::ZERO, 8), ..Pace::new(1) };
        pace.sent(8);
        pace.committed(0);
        assert!(pace.each.is_some());
        assert_eq!(pace.back.as_ref().map(|back| back.missing), Some(8));
    }
}
