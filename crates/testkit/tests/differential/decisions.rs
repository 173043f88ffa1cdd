//! What people decide about workflows and send to their triggers: every decision, fitting or not.

use super::dice::Dice;
use engine::WorkflowVerb;
use model::definition::OnCancel;
use model::{CompensationScope, Decision, RetryMode};

/// Steps of the definitions, and one that none of them has.
const STEPS: [&str; 9] = ["a", "b", "c", "end", "all", "ask", "route", "paid", "nowhere"];
const TRIGGERS: [&str; 3] = ["boss", "late", "nobody"];
const PAYLOADS: [&str; 4] = ["{\"ok\":true}", "{\"ok\":false}", "null", "\"\u{e9}\""];

pub fn verb(dice: &mut Dice) -> WorkflowVerb {
    match dice.below(10) {
        0 => WorkflowVerb::Pause,
        1 | 2 => WorkflowVerb::Resume,
        3 => WorkflowVerb::Cancel,
        _ => WorkflowVerb::Resolve(decision(dice)),
    }
}

fn step(dice: &mut Dice) -> String {
    (*dice.one(&STEPS)).into()
}

fn decision(dice: &mut Dice) -> Decision {
    match dice.below(20) {
        0..=3 => Decision::RETRY,
        4..=8 => Decision::RetryFromStep {
            step: step(dice),
            mode: *dice.one(&[RetryMode::RetryOnly, RetryMode::CompensateThenRetry]),
            include_step: dice.often(500),
            force: dice.often(300),
            items: None,
        },
        9..=12 => Decision::Compensate { scope: scope(dice) },
        13 => Decision::Cancel {
            on_cancel: dice.maybe(700, |d| *d.one(&[OnCancel::Leave, OnCancel::Compensate])),
        },
        14 => Decision::MarkResolved,
        15..=17 => Decision::RetryCompensation,
        _ => Decision::SkipCompensation { all: dice.often(400) },
    }
}

fn scope(dice: &mut Dice) -> CompensationScope {
    match dice.below(5) {
        0 => CompensationScope::Partial((0..dice.below(3)).map(|_| step(dice)).collect()),
        1 => CompensationScope::FromStep(step(dice)),
        2 => CompensationScope::AfterStep(step(dice)),
        _ => CompensationScope::Full,
    }
}

/// A trigger, what is sent to it, and the id of the message, if its sender gives it one.
pub fn trigger(dice: &mut Dice) -> (&'static str, &'static str, Option<String>) {
    let message = dice.maybe(500, |d| format!("msg_{}", d.below(4)));
    (*dice.one(&TRIGGERS), *dice.one(&PAYLOADS), message)
}
