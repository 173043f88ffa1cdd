//! A cancelled or stopped parent cancels its live children.
//!
//! Finds   owners in Cancelled, Stopped or Superseded whose block still has something live or dormant.
//! Emits   `StartSweep(close, ParentCancelled)`.
//! Why     nobody will collect the children of a parent that was called off. A running child is fenced at once; its
//!         late result is recorded and not applied.

use super::{View, close};
use model::{Effect, Event, State};

pub fn decide(view: &View) -> Vec<Effect> {
    match view.owner {
        Some(owner) if matches!(owner.state, State::Cancelled | State::Stopped | State::Superseded) => {
            close(view, Event::ParentCancelled)
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::check::settles;

    #[test]
    fn running_children_fall_too() {
        settles(
            "order Cancelled
               pack Running
               ship Pending
               mail Completed",
            "pack Cancelled parent_cancelled
             ship Cancelled parent_cancelled",
        );
    }

    #[test]
    fn a_stopped_parent_cancels() {
        settles("order Stopped\n  pack Pending", "pack Cancelled parent_cancelled");
    }
}
