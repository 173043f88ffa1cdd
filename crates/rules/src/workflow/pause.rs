//! Pauses behind steps: what ends one, and what is made of whatever is sent to its trigger.
//!
//! Enter    sets the time at which somebody must have come, or at which it goes on by itself.
//! Signal   goes on with what has the right shape and for which the condition holds; keeps what came too early.
//! Due      goes on, waits again, goes on with the default, or fails, as the definition says.
//! Why      a trigger, a time-out and a date may meet in one turn. All three ask here, and what is over stays over.

mod machine;
mod polled;
mod sound;

pub use machine::{IllegalPause, matrix, next};
pub use sound::faults;

use super::{Data, Plan};
use model::definition::{PauseDef, PauseTimeout};
use model::{Pause, PauseState, Timestamp, TriggerAnswer, limits};
use serde_json::Value;

/// When a pause is looked at although nobody comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    pub timeout_at: Option<Timestamp>,
    pub resume_at: Option<Timestamp>,
}

/// The times of a pause that begins now.
pub fn enter(def: &PauseDef, now: Timestamp) -> Times {
    match def.resume_after {
        Some(after) => Times { timeout_at: None, resume_at: Some(now + after) },
        None => Times { timeout_at: Some(now + timeout(def)), resume_at: None },
    }
}

fn timeout(def: &PauseDef) -> std::time::Duration {
    def.timeout.unwrap_or(limits::PAUSE_TIMEOUT_DEFAULT)
}

/// What is done about a pause whose time may have come.
#[derive(Clone, PartialEq, Debug)]
pub enum Due {
    NotYet,
    /// Its date has come.
    Resume,
    /// It goes on with what stands for a payload.
    AutoApprove(Value),
    /// It is told again, and waits until then.
    Remind(Timestamp),
    /// It waits until then.
    Extend(Timestamp),
    Fail,
}

pub fn on_due(def: &PauseDef, pause: &Pause, now: Timestamp) -> Due {
    let has_come = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
    if pause.state != PauseState::Waiting {
        return Due::NotYet;
    }
    if has_come(pause.resume_at) {
        return Due::Resume;
    }
    if !has_come(pause.timeout_at) {
        return Due::NotYet;
    }
    // From now, not from when it was due: whoever was away for a week is reminded once.
    let again = now + timeout(def);
    match def.on_timeout {
        PauseTimeout::Remind if pause.reminders < def.reminders.unwrap_or(limits::REMINDERS_DEFAULT) => {
            Due::Remind(again)
        }
        PauseTimeout::Extend if pause.reminders == 0 => Due::Extend(again),
        PauseTimeout::AutoApprove => Due::AutoApprove(def.default.clone().unwrap_or_default()),
        PauseTimeout::Fail | PauseTimeout::Remind | PauseTimeout::Extend => Due::Fail,
    }
}

/// Where the pause of a trigger is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Standing<'a> {
    /// Its step has not come to its end.
    Ahead,
    Waiting(&'a Pause),
    Over(PauseState),
    /// The workflow went on, or ended, without it.
    PassedBy,
}

/// Whether something that was sent is what a pause waits for.
#[derive(Clone, PartialEq, Debug)]
pub enum Fit {
    Yes,
    /// It has another shape.
    No(String),
    /// The condition does not hold for it.
    NotYet(String),
}

/// The shape alone: the condition may look at answers that are not there yet.
pub fn has_shape(plan: &Plan, n: u32, payload: &Value) -> Fit {
    let shape = plan.steps[n as usize].payload.as_ref();
    shape.and_then(|shape| shape.complaint(payload)).map_or(Fit::Yes, Fit::No)
}

pub fn fits(plan: &Plan, n: u32, payload: &Value, data: &Data) -> Fit {
    let shape = has_shape(plan, n, payload);
    let Some(program) = plan.steps[n as usize].resume_when.as_ref().filter(|_| shape == Fit::Yes) else {
        return shape;
    };
    let shown = data.show(program.references());
    let mut scope = shown.scope();
    scope.bind("payload", payload);
    match program.holds(&scope) {
        Ok(true) => Fit::Yes,
        Ok(false) => Fit::NotYet(format!("`{}` does not hold for it", program.source())),
        Err(failure) => Fit::No(failure.message),
    }
}

/// What is made of something that was sent, when so many wait for pauses to begin.
pub fn on_trigger(standing: Standing, fit: Fit, early: usize) -> TriggerAnswer {
    match (standing, fit) {
        (Standing::Over(PauseState::Resumed), _) => {
            TriggerAnswer::Consumed("already consumed: the pause has gone on".into())
        }
        (Standing::Over(PauseState::TimedOut), _) => TriggerAnswer::Late("its time was over".into()),
        (Standing::Over(PauseState::Cancelled) | Standing::PassedBy, _) => {
            TriggerAnswer::Late("the workflow has ended, or went another way".into())
        }
        (_, Fit::No(why)) => TriggerAnswer::Unfit(why),
        (Standing::Ahead, _) if early >= limits::EARLY_TRIGGERS_MAX => TriggerAnswer::TooMany,
        (Standing::Ahead, _) => TriggerAnswer::Early,
        (Standing::Waiting(_) | Standing::Over(PauseState::Waiting), Fit::NotYet(why)) => {
            TriggerAnswer::StillWaiting(why)
        }
        (Standing::Waiting(_) | Standing::Over(PauseState::Waiting), Fit::Yes) => TriggerAnswer::Accepted,
    }
}

#[cfg(test)]
mod tests;
