//! A step that failed or was cancelled cancels what stands behind it in its block.
//!
//! Finds   blocks that were cut at an index and still have live steps at a higher one; resolvers likewise among
//!         themselves.
//! Emits   `StartSweep(later, PredecessorFailed)`.
//! Why     a later index waits for the earlier one to conclude, and that can no longer happen.

use super::View;
use model::{Block, Effect, Event, StepKind, Sweep, SweepKind};

pub fn decide(view: &View) -> Vec<Effect> {
    let Some(block) = view.block else { return Vec::new() };
    if block.sweep.is_some() {
        return Vec::new();
    }
    let found = cut(block, StepKind::Default, block.cut_at, SweepKind::Later)
        .or_else(|| cut(block, StepKind::Resolver, block.resolver_cut_at, SweepKind::LaterResolvers));
    found.into_iter().collect()
}

fn cut(block: &Block, kind: StepKind, at: Option<u32>, sweep: SweepKind) -> Option<Effect> {
    let above = at?;
    let live = match kind {
        StepKind::Default => &block.live,
        StepKind::Resolver => &block.live_resolvers,
    };
    live.iter().skip(above as usize).any(|n| *n > 0).then_some(Effect::StartSweep {
        block: block.id,
        sweep: Sweep { kind: sweep, event: Event::PredecessorFailed, above, after: None },
    })
}

#[cfg(test)]
mod tests {
    use crate::check::settles;

    #[test]
    fn only_later_indexes_fall() {
        settles(
            "root Running parked
               reserve 1 Completed
               charge 2 Failed
               notify 2 Running
               ship 3 Pending
               mail 4 Pending",
            "ship Cancelled predecessor_failed
             mail Cancelled predecessor_failed",
        );
    }

    #[test]
    fn a_failed_resolver_cancels_later_resolvers() {
        settles(
            "root Running parked
               charge 1 Failed
               refund 1 Failed resolver
               report 2 Pending resolver",
            "report Cancelled predecessor_failed
             root Failed children_failed",
        );
    }

    #[test]
    fn a_cancelled_step_cancels_later_indexes_and_their_children() {
        settles(
            "root Running parked
               charge 1 Cancelled
               ship 2 Pending
                 label 1 Pending",
            "ship Cancelled predecessor_failed
             label Cancelled parent_cancelled
             root Cancelled children_cancelled",
        );
    }
}
