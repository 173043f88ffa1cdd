//! A parent fails when its children make it fail, after everything below it has come to rest.
//!
//! Finds   parked owners whose block is at rest with the verdict Failed.
//! Emits   `MoveStep(owner, ChildrenFailed)`, with an error that names the children.
//! Why     a child still running, or a resolver still at work, may yet matter; the failure climbs when they are done.

use super::{Verdict, View, verdict};
use model::{Count, Detail, Effect, Event, Move};

pub fn decide(view: &View) -> Vec<Effect> {
    let (Some(block), Some(owner)) = (view.block, view.owner) else { return Vec::new() };
    if !owner.parked || verdict(block) != Verdict::Failed {
        return Vec::new();
    }
    let names: Vec<String> = block.blame.iter().map(ToString::to_string).collect();
    let failed = block.steps.failed_set() + block.resolvers.failed_set();
    let more = failed as usize - names.len().min(failed as usize);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = format!("{} failed: {}{tail}", Count(failed, "child step"), names.join(", "));
    let detail = Detail { error_message: Some(message), ..Detail::default() };
    vec![Effect::MoveStep(Box::new(Move { detail, ..Move::new(owner.id, Event::ChildrenFailed) }))]
}

#[cfg(test)]
mod tests {
    use crate::check::settles;

    #[test]
    fn mixed_children_fail_the_parent() {
        settles("order Running parked\n  pack Completed\n  ship Failed", "order Failed children_failed");
    }

    #[test]
    fn a_running_sibling_holds_the_verdict() {
        settles("order Running parked\n  pack Running\n  ship Failed", "");
    }
}
