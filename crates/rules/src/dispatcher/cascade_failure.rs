//! A failed parent takes its live children down with it.
//!
//! Finds   owners in Failed or TimedOut whose block still has something live or dormant.
//! Emits   `StartSweep(close, ParentFailed)`.
//! Why     a child of a dead parent can never be collected, so leaving it live would hold the block open. A child that
//!         already ended keeps the end it reached; this fall wakes no resolver.

use super::{View, close};
use model::{Effect, Event, State};

pub fn decide(view: &View) -> Vec<Effect> {
    match view.owner {
        Some(owner) if matches!(owner.state, State::Failed | State::TimedOut) => {
            close(view, Event::ParentFailed)
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::check::settles;

    #[test]
    fn only_live_children_fall() {
        settles(
            "order Failed
               reserve Completed
               charge Running
               ship Pending
               undo NotRunnable resolver",
            "charge Failed parent_failed
             ship Failed parent_failed
             undo Failed parent_failed",
        );
    }
}
