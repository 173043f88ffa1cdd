//! Whether a step may run now, as far as its block is concerned.
//!
//! Why    eligibility is computed, never stored: opening an index of 100,000 steps must not rewrite them.

use model::{Block, State, Step};

/// May be picked: pending or to be polled again, due, and its block has come to its index.
pub fn is_ready(step: &Step, block: Option<&Block>, now: model::Timestamp) -> bool {
    waits(step) && step.is_due(now) && (step.place.is_none() || block.is_some_and(|b| has_turn(step, b)))
}

/// Nobody has it, and it is to be given to somebody when its time has come.
pub fn waits(step: &Step) -> bool {
    matches!(step.state, State::Pending | State::Polling)
}

/// Its block has come to its index, and nothing is about to take it away.
pub fn has_turn(step: &Step, block: &Block) -> bool {
    if block.held {
        return false;
    }
    if block.sweep.is_some_and(|s| s.covers(step.kind, step.state, step.index())) {
        return false;
    }
    let (at, cut) = if step.is_resolver() {
        (block.resolver_index, block.resolver_cut_at)
    } else {
        (block.current_index, block.cut_at)
    };
    step.index() == at && cut.is_none_or(|cut| step.index() <= cut)
}
