//! What a node tells of itself: when that is over, and when it is told again.
//!
//! Finds   an open alert that no rule has found, and the step that it is about, if it is about one.
//! Emits   that it is over and how that was seen, that it is told again, or nothing.
//! Why     a step that a rule wanted to move where nothing leads is a fault of ours: until it has ended somebody must look, and so they
//!         are asked again. A dispatch group that stands still is taken back by the node that has it, which alone knows when it moves.

use super::course::is_to_remind;
use super::{Candidate, Observed};
use model::{Alert, State, Timestamp, limits, said};

/// A dispatch group with ready work in which nothing happens.
pub const NO_PROGRESS: &str = "group_no_progress";
/// A step that a rule wanted to move where nothing leads.
pub const ILLEGAL_MOVE: &str = "illegal_move";

/// Whether what a node told of a step is over.
pub fn observe_own(alert: &Alert, step: Option<&Candidate>) -> Observed {
    let is_over = |step: &Candidate| step.state.parse::<State>().is_ok_and(State::is_terminal);
    match step {
        _ if alert.entity != "step" => Observed::Still(alert.since),
        None => Observed::Left("it is gone".into()),
        Some(step) if step.acts_on.is_some() => Observed::Left("another step took its place".into()),
        Some(step) if is_over(step) => Observed::Left(format!("it {}", said(&step.state))),
        Some(_) => Observed::Still(alert.since),
    }
}

/// Whether the administrator is told again of what a node told of itself.
pub fn is_own_to_remind(alert: &Alert, now: Timestamp) -> bool {
    is_to_remind(alert, (alert.severity, limits::REMIND_EVERY_DEFAULT), now)
}
