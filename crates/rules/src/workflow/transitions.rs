//! Every move that the specification draws is one the machines make, and every other one is refused or has its reason here.

use super::{machine, pause, poll, undoing};
use crate::check::blank;
use crate::machine as steps;
use model::definition::{PollDef, PollTimeout};
use model::{
    CompensationState as C, Effect, Event, Outcome, PauseState as P, Report, SessionId, State as S, Step,
    StepId, Timestamp, WorkflowState as W,
};
use std::collections::BTreeSet;
use std::fmt::Debug;

/// For each pair: it is drawn, or it has a reason, exactly if the machine makes it.
fn agree<T: Copy + Ord + Debug>(
    all: &[T],
    drawn: &[(T, T)],
    reasoned: &[(T, T, &str)],
    makes: impl Fn(T, T) -> bool,
) {
    let added = reasoned.iter().map(|(from, to, why)| {
        assert!(
            !why.is_empty() && !drawn.contains(&(*from, *to)),
            "{from:?} to {to:?} is drawn: no reason is needed"
        );
        (*from, *to)
    });
    let expected: BTreeSet<(T, T)> = drawn.iter().copied().chain(added).collect();
    for from in all {
        for to in all {
            assert_eq!(makes(*from, *to), expected.contains(&(*from, *to)), "{from:?} to {to:?}");
        }
    }
}

#[test]
fn workflows_go_where_the_specification_draws() {
    let drawn = [
        (W::Pending, W::Running),
        (W::Running, W::Paused),
        (W::Paused, W::Running),
        (W::Running, W::Succeeded),
        (W::Running, W::Failed),
        (W::Paused, W::Failed),
        (W::Failed, W::Running),
        (W::Failed, W::Compensating),
        (W::Failed, W::Cancelled),
        (W::Compensating, W::Compensated),
        (W::Compensating, W::CompensationFailed),
        (W::CompensationFailed, W::Compensating),
        (W::CompensationFailed, W::Compensated),
    ];
    let reasoned = [
        (W::Pending, W::Cancelled, "nobody wants it before it began"),
        (W::Running, W::Cancelled, "whoever started it does not want it any more"),
        (W::Paused, W::Cancelled, "the same while it waits"),
        (W::Paused, W::Succeeded, "the step that still ran when it was held has ended the whole"),
        (W::Running, W::Compensating, "cancelled, or out of time, and undone because of that"),
        (W::Paused, W::Compensating, "the same while it waits"),
        (W::Succeeded, W::Running, "done again from a step although it succeeded, by force"),
        (W::Compensating, W::Running, "undone in order to be done again from a step"),
    ];
    agree(W::ALL, &drawn, &reasoned, |from, to| machine::next(from, to).is_ok());
}

/// Where one event leads that nobody forced, through the moment in which a step is dispatched.
fn leads(from: S, to: S) -> bool {
    let forced =
        [Event::ForcedComplete, Event::ForcedFail, Event::ForcedStop, Event::ForcedSkip, Event::ForcedCancel];
    let by = |from: S, to: S| {
        let events = Event::ALL.iter().filter(|event| !forced.contains(event));
        events.into_iter().any(|event| steps::next(from, *event) == Ok(to))
    };
    by(from, to) || (by(from, S::Dispatched) && by(S::Dispatched, to))
}

/// The states that the specification has; ours has more names for how a step ends.
const STEP: [S; 8] =
    [S::Pending, S::Running, S::Polling, S::Completed, S::Failed, S::TimedOut, S::Skipped, S::Superseded];

#[test]
fn steps_go_where_the_specification_draws() {
    let drawn = [
        (S::Pending, S::Running),
        (S::Running, S::Completed),
        (S::Running, S::Polling),
        (S::Running, S::Failed),
        (S::Polling, S::Running),
        (S::Polling, S::Failed),
        (S::Polling, S::TimedOut),
        (S::Pending, S::Skipped),
    ];
    let settled = "a run that is done again has ended, so that its row tells how";
    let cascade = "what it is part of has ended so";
    let reasoned = [
        (S::Completed, S::Superseded, settled),
        (S::Failed, S::Superseded, settled),
        (S::TimedOut, S::Superseded, settled),
        (S::Skipped, S::Superseded, settled),
        (S::Running, S::Pending, "its attempt failed or was lost, and there is another"),
        (S::Running, S::TimedOut, "its time was over"),
        (S::Running, S::Skipped, "its job found that there is nothing to do"),
        (S::Pending, S::Failed, "its attempts are used up, or what it is part of has failed"),
        (S::Pending, S::TimedOut, "its time was over before anybody took it"),
        (S::Polling, S::Skipped, cascade),
        (S::Pending, S::Pending, "whoever it was sent to gave it back"),
        (S::Polling, S::Pending, "whoever its poll was sent to gave it back"),
    ];
    agree(&STEP, &drawn, &reasoned, leads);
}

/// A poll that has its answer is `completed` from `running`, in which it is while it is asked.
#[test]
fn a_poll_is_answered_while_it_runs() {
    assert!(
        !leads(S::Polling, S::Completed) && leads(S::Polling, S::Running) && leads(S::Running, S::Completed)
    );
    assert_eq!(steps::next(S::Polling, Event::ForcedComplete), Ok(S::Completed), "or a person says so");
}

/// Where effects lead from a state, if the machine makes all of their moves.
fn led(from: S, effects: &[Effect]) -> Option<S> {
    effects.iter().try_fold(from, |state, effect| match effect {
        Effect::MoveStep(wanted) => steps::next(state, wanted.event).ok(),
        _ => None,
    })
}

fn polled_in(state: S) -> Step {
    Step { state, attempt: 1, session: Some(SessionId::of(1)), ..blank(StepId::of(1)) }
}

/// An answer of a poll counts while it is asked, and in no other state.
#[test]
fn what_a_poll_answers_moves_it_only_while_it_runs() {
    let outcomes = [
        (Outcome::Complete { response: None }, S::Completed),
        (Outcome::Continue { data: None, after: None }, S::Polling),
        (Outcome::Abort { why: "no".into() }, S::Failed),
    ];
    for state in S::ALL {
        for (outcome, to) in &outcomes {
            let step = polled_in(*state);
            let (session, outcome, log, delivery) = (SessionId::of(1), outcome.clone(), Vec::new(), None);
            let report = Report { session, step: step.id, attempt: 1, outcome, log, delivery };
            let polled = poll::decide(&step, &PollDef::default(), &report, Timestamp(0));
            let found = polled.and_then(|polled| led(*state, &polled.effects));
            assert_eq!(found, (*state == S::Running).then_some(*to), "{state}");
        }
    }
}

/// When its time is over, a poll that has not ended does, as its definition says; what has ended stays as it is.
#[test]
fn a_poll_out_of_time_ends_wherever_it_is() {
    let policies = [(PollTimeout::Fail, S::TimedOut), (PollTimeout::Pause, S::TimedOut)];
    for (on_timeout, to) in policies {
        let poll = PollDef { on_timeout, ..PollDef::default() };
        for state in S::ALL.iter().filter(|state| **state != S::NotRunnable) {
            let found = led(*state, &poll::overdue(&polled_in(*state), &poll));
            assert_eq!(found, (!state.is_terminal()).then_some(to), "{state}");
        }
    }
    let poll = PollDef { on_timeout: PollTimeout::ContinueWithDefault, ..PollDef::default() };
    for state in [S::Pending, S::Polling, S::Running] {
        assert_eq!(led(state, &poll::overdue(&polled_in(state), &poll)), Some(S::Completed), "{state}");
    }
}

/// What has ended is left by nobody, whatever is reported, decided or over.
#[test]
fn ends_are_final() {
    for from in S::ALL.iter().filter(|state| state.is_terminal()) {
        for event in Event::ALL {
            let to = steps::next(*from, *event).ok();
            let again = *event == Event::Superseded && *from != S::Superseded;
            assert_eq!(to, again.then_some(S::Superseded), "{from} by {event}");
        }
    }
}

#[test]
fn what_is_undone_goes_where_the_specification_draws() {
    let drawn = [
        (C::Pending, C::Running),
        (C::Running, C::Succeeded),
        (C::Running, C::Failed),
        (C::Failed, C::Skipped),
    ];
    let reasoned = [
        (C::Failed, C::Pending, "a person has it tried again"),
        (C::Pending, C::Skipped, "a person leaves all that is left as it is"),
        (C::Running, C::Running, "the next item of a fan-out"),
        (C::Running, C::Skipped, "every item of a fan-out was left as it is"),
    ];
    agree(C::ALL, &drawn, &reasoned, |from, to| undoing::next(from, to).is_ok());
}

#[test]
fn a_pause_ends_once() {
    let drawn = [(P::Waiting, P::Resumed), (P::Waiting, P::TimedOut)];
    let reasoned = [
        (P::Waiting, P::Waiting, "it was reminded of, or has more time"),
        (P::Waiting, P::Cancelled, "the whole has ended without it, or its step is done again"),
    ];
    agree(P::ALL, &drawn, &reasoned, |from, to| pause::next(from, to).is_ok());
}
