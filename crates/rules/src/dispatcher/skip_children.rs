//! A skipped parent takes its whole subtree with it.
//!
//! Finds   skipped owners whose block still has something live or dormant; completed ones with something live.
//! Emits   `StartSweep(close, ParentSkipped)`.
//! Why     what was decided to be unnecessary is unnecessary all the way down. A parent completes over live children only
//!         when its job answered Resolved: it skipped to its resolvers, and nobody will collect the children.

use super::{View, close};
use model::{Effect, Event, State};

pub fn decide(view: &View) -> Vec<Effect> {
    match view.owner {
        Some(owner) if owner.state == State::Skipped => close(view, Event::ParentSkipped),
        Some(owner) if owner.state == State::Completed && has_live(view) => close(view, Event::ParentSkipped),
        _ => Vec::new(),
    }
}

fn has_live(view: &View) -> bool {
    view.block.is_some_and(|b| b.steps.hot + b.resolvers.hot > 0)
}

#[cfg(test)]
mod tests {
    use crate::check::settles;

    #[test]
    fn the_whole_subtree_is_skipped() {
        settles(
            "order Skipped
               pack Pending
                 label Pending
                 weigh NotRunnable resolver",
            "pack Skipped parent_skipped
             label Skipped parent_skipped
             weigh Skipped parent_skipped",
        );
    }

    #[test]
    fn a_resolved_parent_leaves_no_child_behind() {
        settles("order Completed\n  pack Completed\n  ship Pending", "ship Skipped parent_skipped");
        settles("order Completed\n  pack Completed\n  undo NotRunnable resolver", "");
    }

    #[test]
    fn a_child_that_ended_keeps_its_end() {
        settles("order Skipped\n  pack Completed\n  ship Pending", "ship Skipped parent_skipped");
    }
}
