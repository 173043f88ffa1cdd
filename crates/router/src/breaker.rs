//! Spares a target that fails, and finds out whether it is well again.
//!
//! Why    `now` is time since the router started and comes as an argument, so every move can be told in a table. Each call
//!        carries the pass it began with: the end of a call that began before the breaker moved says nothing about now.

use crate::limits::BREAKERS_MAX;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

const WINDOW: usize = 100;
const CALLS_MIN: usize = 10;
/// Of a hundred.
const FAILURES_OPEN: usize = 50;
const OPEN_FOR: Duration = Duration::from_secs(5);
const SUCCESSES_CLOSE: u32 = 3;
const IDLE_MAX: Duration = Duration::from_secs(3600);

/// What a call says about its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Success,
    Failure,
    Neutral,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass(u64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Closed { ends: VecDeque<Verdict> },
    Open { until: Duration },
    HalfOpen { trying: u32, successes: u32 },
}

#[derive(Clone, Debug)]
pub struct Breaker {
    state: State,
    moves: u64,
    used_at: Duration,
}

impl Breaker {
    pub fn new(now: Duration) -> Breaker {
        Breaker { state: State::Closed { ends: VecDeque::new() }, moves: 0, used_at: now }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// Calls looked back at, and how many of them failed.
    pub fn tally(&self) -> (usize, usize) {
        match &self.state {
            State::Closed { ends } => (ends.len(), failures(ends)),
            State::Open { .. } | State::HalfOpen { .. } => (0, 0),
        }
    }

    /// Whether a call may begin.
    pub fn admits(&self, now: Duration) -> bool {
        match self.state {
            State::Closed { .. } => true,
            State::Open { until } => now >= until,
            State::HalfOpen { trying, successes } => trying + successes < SUCCESSES_CLOSE,
        }
    }

    /// A call begins that was admitted.
    pub fn enter(&mut self, now: Duration) -> Pass {
        self.used_at = now;
        if let State::Open { until } = self.state
            && now >= until
        {
            self.go(State::HalfOpen { trying: 0, successes: 0 });
        }
        if let State::HalfOpen { trying, .. } = &mut self.state {
            *trying += 1;
        }
        Pass(self.moves)
    }

    /// A call has ended; whether that opened the breaker.
    pub fn record(&mut self, pass: Pass, verdict: Verdict, now: Duration) -> bool {
        self.used_at = now;
        if pass.0 != self.moves {
            return false;
        }
        match (&mut self.state, verdict) {
            (State::Closed { .. }, Verdict::Neutral) | (State::Open { .. }, _) => false,
            (State::Closed { ends }, verdict) => {
                ends.push_back(verdict);
                if ends.len() > WINDOW {
                    ends.pop_front();
                }
                let fails = ends.len() >= CALLS_MIN && failures(ends) * 100 >= ends.len() * FAILURES_OPEN;
                if fails {
                    self.go(State::Open { until: now + OPEN_FOR });
                }
                fails
            }
            (State::HalfOpen { .. }, Verdict::Failure) => {
                self.go(State::Open { until: now + OPEN_FOR });
                true
            }
            (State::HalfOpen { trying, .. }, Verdict::Neutral) => {
                *trying -= 1;
                false
            }
            (State::HalfOpen { trying, successes }, Verdict::Success) => {
                (*trying, *successes) = (*trying - 1, *successes + 1);
                if *successes >= SUCCESSES_CLOSE {
                    self.go(State::Closed { ends: VecDeque::new() });
                }
                false
            }
        }
    }

    pub fn reset(&mut self) {
        self.go(State::Closed { ends: VecDeque::new() });
    }

    fn go(&mut self, state: State) {
        self.state = state;
        self.moves += 1;
    }
}

fn failures(ends: &VecDeque<Verdict>) -> usize {
    ends.iter().filter(|end| **end == Verdict::Failure).count()
}

/// One breaker for each target; those unused for an hour are forgotten.
#[derive(Default)]
pub struct Breakers {
    by_target: HashMap<String, Breaker>,
    swept_at: Duration,
}

impl Breakers {
    pub fn admits(&self, target: &str, now: Duration) -> bool {
        self.by_target.get(target).is_none_or(|breaker| breaker.admits(now))
    }

    pub fn enter(&mut self, target: &str, now: Duration) -> Pass {
        if let Some(breaker) = self.by_target.get_mut(target) {
            return breaker.enter(now);
        }
        if self.by_target.len() >= BREAKERS_MAX {
            let idlest = self.by_target.iter().min_by_key(|(_, breaker)| breaker.used_at);
            if let Some(idlest) = idlest.map(|(target, _)| target.clone()) {
                self.by_target.remove(&idlest);
            }
        }
        self.by_target.entry(target.into()).or_insert_with(|| Breaker::new(now)).enter(now)
    }

    pub fn record(&mut self, target: &str, pass: Pass, verdict: Verdict, now: Duration) -> bool {
        self.by_target.get_mut(target).is_some_and(|breaker| breaker.record(pass, verdict, now))
    }

    /// Whether there was one to reset.
    pub fn reset(&mut self, target: &str) -> bool {
        self.by_target.get_mut(target).map(Breaker::reset).is_some()
    }

    pub fn reset_all(&mut self) {
        self.by_target.values_mut().for_each(Breaker::reset);
    }

    pub fn sweep(&mut self, now: Duration) {
        if now.saturating_sub(self.swept_at) >= IDLE_MAX / 60 {
            self.swept_at = now;
            self.by_target.retain(|_, breaker| now.saturating_sub(breaker.used_at) < IDLE_MAX);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&String, &Breaker)> {
        self.by_target.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays calls one after another: `9F` are nine failures, `S` a success, `N` neutral, `+5s` passes time, `reset` resets; a call
    /// that is not admitted is told, and `?` tells the state.
    fn play(script: &str) -> String {
        let (mut now, mut breaker, mut told) = (Duration::ZERO, Breaker::new(Duration::ZERO), Vec::new());
        for word in script.split_whitespace() {
            if word == "?" {
                told.push(describe(&breaker));
            } else if word == "reset" {
                breaker.reset();
            } else if let Some(span) = word.strip_prefix('+') {
                now += Duration::from_secs(span.trim_end_matches('s').parse().unwrap());
            } else {
                let (times, verdict) = word.split_at(word.len() - 1);
                for _ in 0..times.parse().unwrap_or(1) {
                    if !breaker.admits(now) {
                        told.push("refused".into());
                        continue;
                    }
                    let pass = breaker.enter(now);
                    breaker.record(pass, verdict_of(verdict), now);
                }
            }
        }
        told.join(", ")
    }

    fn verdict_of(letter: &str) -> Verdict {
        match letter {
            "S" => Verdict::Success,
            "F" => Verdict::Failure,
            _ => Verdict::Neutral,
        }
    }

    fn describe(breaker: &Breaker) -> String {
        match breaker.state() {
            State::Closed { .. } => format!("closed {}/{}", breaker.tally().1, breaker.tally().0),
            State::Open { until } => format!("open until {}s", until.as_secs()),
            State::HalfOpen { trying, successes } => format!("half-open {trying} {successes}"),
        }
    }

    #[test]
    fn every_move() {
        let table = [
            ("9F ?", "closed 9/9"),
            ("10F ?", "open until 5s"),
            ("10F F", "refused"),
            ("5S 5F ?", "open until 5s"),
            ("6S 5F ?", "closed 5/11"),
            ("6S 5F F ?", "open until 5s"),
            ("9F 50N ?", "closed 9/9"),
            ("100S 50F ?", "open until 5s"),
            ("100S 49F ?", "closed 49/100"),
            ("100S 49F 100S ?", "closed 0/100"),
            ("+1s 10F +4s F ?", "refused, open until 6s"),
            ("10F +5s S ?", "half-open 0 1"),
            ("10F +5s 2S N ?", "half-open 0 2"),
            ("10F +5s 3S ?", "closed 0/0"),
            ("10F +5s 2S F ?", "open until 10s"),
            ("10F +5s F +5s 3S ?", "closed 0/0"),
            ("10F reset ?", "closed 0/0"),
            ("10F reset S ?", "closed 0/1"),
        ];
        for (script, told) in table {
            assert_eq!(play(script), told, "{script}");
        }
    }

    #[test]
    fn no_more_tries_at_once_than_successes_are_needed() {
        let mut breaker = Breaker::new(Duration::ZERO);
        for _ in 0..10 {
            let pass = breaker.enter(Duration::ZERO);
            breaker.record(pass, Verdict::Failure, Duration::ZERO);
        }
        let now = Duration::from_secs(5);
        let passes: Vec<_> = std::iter::from_fn(|| breaker.admits(now).then(|| breaker.enter(now))).collect();
        assert_eq!(passes.len(), 3);
        for pass in passes {
            breaker.record(pass, Verdict::Success, now);
        }
        assert_eq!(describe(&breaker), "closed 0/0");
    }

    #[test]
    fn the_end_of_a_call_that_began_before_a_move_says_nothing() {
        let mut breaker = Breaker::new(Duration::ZERO);
        let early = breaker.enter(Duration::ZERO);
        for _ in 0..10 {
            let pass = breaker.enter(Duration::ZERO);
            breaker.record(pass, Verdict::Failure, Duration::ZERO);
        }
        let now = Duration::from_secs(5);
        breaker.enter(now);
        breaker.record(early, Verdict::Failure, now);
        assert_eq!(describe(&breaker), "half-open 1 0");
    }

    #[test]
    fn breakers_are_forgotten_after_an_hour_and_when_there_are_too_many() {
        let mut breakers = Breakers::default();
        let minute = Duration::from_secs(60);
        breakers.enter("a", Duration::ZERO);
        breakers.enter("b", minute);
        breakers.sweep(minute * 60);
        let left: Vec<_> = breakers.iter().map(|(target, _)| target.clone()).collect();
        assert_eq!(left, ["b"]);
        for n in 0..BREAKERS_MAX {
            breakers.enter(&n.to_string(), minute * 60);
        }
        assert_eq!(breakers.iter().count(), BREAKERS_MAX);
        assert!(!breakers.reset("b") && breakers.reset("7"));
    }
}
