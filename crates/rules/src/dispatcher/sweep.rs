//! One page of a sweep: many children meet the same event.
//!
//! Finds   the children that the block's sweep covers, behind its cursor, at most a page of them.
//! Emits   `MoveStep` for each, then `AdvanceSweep`, or `EndSweep` when the page was the last.
//! Why     a cascade over 100,000 children must not be one turn; the block is undispatchable from its first write on.

use model::{Block, Effect, Move, Step};

pub fn decide(block: &Block, page: &[&Step], last: bool) -> Vec<Effect> {
    let Some(sweep) = block.sweep else { return Vec::new() };
    let covered = page.iter().filter(|s| sweep.covers(s.kind, s.state, s.index()));
    let mut effects: Vec<Effect> =
        covered.map(|s| Effect::MoveStep(Box::new(Move::new(s.id, sweep.event)))).collect();
    match page.last() {
        Some(step) if !last => {
            effects.push(Effect::AdvanceSweep { block: block.id, after: (step.index(), step.id) })
        }
        _ => effects.push(Effect::EndSweep { block: block.id }),
    }
    effects
}
