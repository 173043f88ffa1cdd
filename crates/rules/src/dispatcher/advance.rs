//! Opens the next index of a block when everything before it is concluded.
//!
//! Finds   blocks that may run (no owner, or an owner whose job returned) and whose current index has nothing live.
//! Emits   `OpenIndex`, `OpenResolverIndex`.
//! Why     eligibility is a number on the block, not a mark on each of its steps. This is no transition: it moves no
//!         step, so it never ends a tick. A step may be ended by hand before its turn: what stands beside or before it
//!         still runs.

use super::View;
use model::{Block, Effect, StepKind};

pub fn decide(view: &View) -> Vec<Effect> {
    let Some(block) = view.block else { return Vec::new() };
    let may_run = match block.owner {
        None => true,
        Some(_) => view.owner.is_some_and(|owner| owner.parked),
    };
    if !may_run || block.sweep.is_some() {
        return Vec::new();
    }
    let mut effects = Vec::new();
    if let Some(index) = next_live(block, StepKind::Default, block.current_index)
        && block.cut_at.is_none_or(|cut| index <= cut)
    {
        effects.push(Effect::OpenIndex { block: block.id, index });
    }
    if let Some(index) = next_live(block, StepKind::Resolver, block.resolver_index)
        && block.resolver_cut_at.is_none_or(|cut| index <= cut)
    {
        effects.push(Effect::OpenResolverIndex { block: block.id, index });
    }
    effects
}

/// The next index that has something live, once the current one has nothing left.
fn next_live(block: &Block, kind: StepKind, current: u32) -> Option<u32> {
    if block.live_at(kind, current) > 0 {
        return None;
    }
    let live = match kind {
        StepKind::Default => &block.live,
        StepKind::Resolver => &block.live_resolvers,
    };
    let after = live.iter().skip(current as usize).position(|n| *n > 0)?;
    Some(current + after as u32 + 1)
}
