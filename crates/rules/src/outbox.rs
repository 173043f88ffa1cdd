//! What may become of a step whose message is in the queue outside.
//!
//! Finds   steps that the outbox holds: dispatched, and in no worker's hands.
//! Emits   `GivenBack`: back to Pending at no cost, for another attempt.
//! Why     a queue may lose, double and delay. Whoever it sends must name the attempt that is queued now; what nobody
//!         came for is queued again under a new one, so that the old message is refused when it turns up.

use crate::{backoff, eligible};
use model::{Backoff, Detail, Effect, Event, Move, NotBegun, SessionId, State, Step, Timestamp};
use std::time::Duration;

/// Between tries to publish a message that the queue does not take.
const UNPUBLISHED: Backoff =
    Backoff { delay: Duration::from_secs(1), factor: 2.0, max_delay: Duration::from_secs(60) };

/// Its message is in the queue, or on the way there.
pub fn is_queued(step: &Step) -> bool {
    step.state == State::Dispatched && step.session == Some(SessionId::OUTBOX)
}

/// Whether somebody who was sent for this attempt may begin it.
pub fn may_begin(step: &Step, attempt: u32) -> Result<(), NotBegun> {
    match () {
        () if attempt != step.attempt || eligible::waits(step) => Err(NotBegun::Old),
        () if step.state.is_terminal() => Err(NotBegun::Ended),
        () if is_queued(step) => Ok(()),
        () => Err(NotBegun::Begun),
    }
}

/// The queue did not take its message.
pub fn unpublished(step: &Step, attempt: u32, problem: &str, now: Timestamp) -> Option<Effect> {
    let wait = backoff::delay(&UNPUBLISHED, step.id, attempt);
    put_back(step, attempt, format!("its message was not published: {problem}"), Some(now + wait))
}

/// Nobody came for it in time: its message is lost, or stuck.
pub fn stale(step: &Step, attempt: u32, after: Duration) -> Option<Effect> {
    put_back(step, attempt, format!("nobody was sent for it in {} s", after.as_secs()), None)
}

/// Nobody publishes any more.
pub fn withdrawn(step: &Step, attempt: u32) -> Option<Effect> {
    put_back(step, attempt, "it was queued by a node that published, and none does".into(), None)
}

/// Its message is in another queue than the one that is published to now.
pub fn moved(step: &Step, attempt: u32, queue: &str) -> Option<Effect> {
    put_back(step, attempt, format!("its message was in another queue; it goes to {queue} now"), None)
}

/// Its message group is paused: whoever is sent for it comes too late, and it keeps its place in the line.
pub fn paused(step: &Step) -> Option<Effect> {
    put_back(step, step.attempt, "its message group was paused".into(), None)
}

fn put_back(step: &Step, attempt: u32, why: String, wake_at: Option<Timestamp>) -> Option<Effect> {
    if !is_queued(step) || step.attempt != attempt {
        return None;
    }
    let detail = Detail { error_message: Some(why), ..Detail::default() };
    Some(Effect::MoveStep(Box::new(Move { wake_at, detail, ..Move::new(step.id, Event::GivenBack) })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{running, step, told_effect};

    fn queued(line: &str) -> Step {
        Step { state: State::Dispatched, session: Some(SessionId::OUTBOX), ..step(line, 1) }
    }

    #[test]
    fn only_the_attempt_that_is_queued_now_begins() {
        let told = |step: &Step, attempt| match may_begin(step, attempt) {
            Ok(()) => "begins",
            Err(no) => no.word(),
        };
        assert_eq!(told(&queued("a attempt=2"), 2), "begins");
        assert_eq!(told(&queued("a attempt=2"), 1), "old");
        assert_eq!(told(&queued("a attempt=2"), 3), "old", "of an attempt that never was");
        assert_eq!(told(&step("a Pending attempt=2", 1), 2), "old", "it was put back");
        assert_eq!(told(&running("a attempt=2"), 2), "begun");
        assert_eq!(told(&step("a Completed attempt=2", 1), 2), "ended");
        assert_eq!(told(&step("a Cancelled attempt=2", 1), 1), "old");
    }

    #[test]
    fn what_was_not_published_waits_longer_each_time() {
        let told = |attempt| {
            let step = queued(&format!("a attempt={attempt}"));
            let Some(Effect::MoveStep(back)) = unpublished(&step, attempt, "full", Timestamp(0)) else {
                panic!("it is put back")
            };
            assert_eq!(back.event, Event::GivenBack);
            back.wake_at.map(|at| at.0 / 1_000_000)
        };
        assert_eq!([1, 2, 4, 9].map(told), [Some(0), Some(1), Some(7), Some(56)]);
    }

    #[test]
    fn what_goes_back_says_why() {
        let why = |effect: Option<Effect>| match effect {
            Some(Effect::MoveStep(back)) => {
                assert_eq!((back.event, back.wake_at), (Event::GivenBack, None));
                back.detail.error_message.unwrap_or_default()
            }
            _ => "it stays".into(),
        };
        let a = queued("a attempt=2");
        assert_eq!(why(stale(&a, 2, Duration::from_secs(900))), "nobody was sent for it in 900 s");
        assert_eq!(why(withdrawn(&a, 2)), "it was queued by a node that published, and none does");
        assert_eq!(
            why(moved(&a, 2, "embedded")),
            "its message was in another queue; it goes to embedded now"
        );
        assert_eq!(why(paused(&a)), "its message group was paused");
        assert_eq!(why(moved(&a, 1, "embedded")), "it stays");
        assert_eq!(why(paused(&running("a attempt=2"))), "it stays", "what runs goes on");
    }

    #[test]
    fn what_is_not_queued_any_more_is_left_alone() {
        let after = Duration::from_secs(900);
        assert_eq!(told_effect(&stale(&queued("a attempt=1"), 1, after).unwrap()), "given_back");
        assert_eq!(stale(&queued("a attempt=2"), 1, after), None);
        assert_eq!(stale(&running("a attempt=1"), 1, after), None);
        assert_eq!(unpublished(&running("a attempt=1"), 1, "full", Timestamp(0)), None);
    }
}
