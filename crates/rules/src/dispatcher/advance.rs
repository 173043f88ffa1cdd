//! Opens the next index of a block when everything before it is concluded.
//!
//! Finds   blocks that may run (no owner, or an owner whose job returned) and whose current index has nothing live.
//! Emits   `OpenIndex`, `OpenResolverIndex`.
//! Why     eligibility is a number on the block, not a mark on each of its steps. This is no transition: it moves no
//!         step, so it never ends a tick. A step may be ended by hand before its turn: what stands beside or before it
//!         still runs.

use super::View;
use model::{Effect, StepKind};

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
    let (index, resolver_index) = (block.index_now(StepKind::Default), block.index_now(StepKind::Resolver));
    if index != block.current_index {
        effects.push(Effect::OpenIndex { block: block.id, index });
    }
    if resolver_index != block.resolver_index {
        effects.push(Effect::OpenResolverIndex { block: block.id, index: resolver_index });
    }
    effects
}
