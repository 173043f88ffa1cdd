//! A parent ends well, or as cancelled, once no child can move any more.
//!
//! Finds   parked owners whose block is at rest with the verdict Completed or Cancelled.
//! Emits   `MoveStep(owner, ChildrenCompleted | ChildrenCancelled)`.
//! Why     an empty block completes its parent: the job returned, and there is nothing to wait for.

use super::{Verdict, View, verdict};
use model::{Effect, Event, Move};

pub fn decide(view: &View) -> Vec<Effect> {
    let (Some(block), Some(owner)) = (view.block, view.owner) else { return Vec::new() };
    if !owner.parked {
        return Vec::new();
    }
    let event = match verdict(block) {
        Verdict::Completed => Event::ChildrenCompleted,
        Verdict::Cancelled => Event::ChildrenCancelled,
        Verdict::Open | Verdict::Failed => return Vec::new(),
    };
    vec![Effect::MoveStep(Box::new(Move::new(owner.id, event)))]
}

#[cfg(test)]
mod tests {
    use crate::check::settles;

    #[test]
    fn it_climbs_to_the_root_in_one_settling() {
        settles(
            "order Running parked
               pack Running parked
                 label Completed
                 weigh Skipped",
            "pack Completed
             order Completed",
        );
    }

    #[test]
    fn a_cancelled_child_cancels() {
        settles(
            "order Running parked\n  pack Completed\n  ship Cancelled",
            "order Cancelled children_cancelled",
        );
    }

    #[test]
    fn dormant_resolvers_do_not_hold_a_parent() {
        settles("order Running parked\n  pack Completed\n  undo NotRunnable resolver", "order Completed");
    }
}
