//! A failure wakes the dormant resolvers of its block.
//!
//! Finds   blocks in which a step failed of itself (or asked for its resolvers) and resolvers still sleep.
//! Emits   `StartSweep(resolvers, Promoted)`, or `ResolversWoken` when there is none to wake.
//! Why     the handler of a block runs before its failure climbs to the parent. A fall with the parent wakes nobody.

use super::View;
use model::{Effect, Event, Sweep, SweepKind};

pub fn decide(view: &View) -> Vec<Effect> {
    let Some(block) = view.block else { return Vec::new() };
    if !block.wants_resolvers || block.sweep.is_some() {
        return Vec::new();
    }
    let mut effects = vec![Effect::ResolversWoken { block: block.id }];
    if block.resolvers.not_runnable > 0 {
        let sweep = Sweep { kind: SweepKind::Resolvers, event: Event::Promoted, above: 0, after: None };
        effects.push(Effect::StartSweep { block: block.id, sweep });
    }
    effects
}

#[cfg(test)]
mod tests {
    use crate::check::settles;

    #[test]
    fn all_resolvers_of_the_block_wake() {
        settles(
            "root Running parked
               charge 1 Failed
               refund 1 NotRunnable resolver
               report 2 NotRunnable resolver",
            "refund Pending promoted
             report Pending promoted",
        );
    }

    #[test]
    fn a_cancelled_step_wakes_nobody() {
        settles(
            "root Running parked
               charge 1 Cancelled
               refund 1 NotRunnable resolver",
            "root Cancelled children_cancelled
             refund Cancelled parent_cancelled",
        );
    }
}
