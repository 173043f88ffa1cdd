//! Small worlds of which every state is looked at: what may happen in any order, decided by the rules themselves.
//!
//! Why    races of triggers, times and people are too rare for random runs and too many to be thought through. The worlds hold rows, who
//!        thinks about them and what is under way; what is to be done is asked of the rules. Each is looked at a second time with
//!        one fence taken away: if nothing is found then, the world could not have shown the fault.

mod pausing;
mod undoing;

use crate::workflow::Plan;
use model::Pinned;
use serde_json::Value;
use stateright::{Checker, HasDiscoveries, Model};
use std::hash::Hash;
use std::sync::Arc;

/// A definition of which the worlds are made.
fn plan(text: Value) -> Plan {
    let pinned = Pinned { key: "w".into(), version: "1.0.0".into(), hash: "h".into() };
    Plan::compile(serde_json::from_value(text).expect("a definition"), Arc::new(pinned)).expect("it is sound")
}

/// Every state of a world is as it must be, and whatever it is there to show happens in it.
fn holds<M>(world: M) -> usize
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + std::fmt::Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static,
{
    let checker = world.checker().spawn_bfs().join();
    checker.assert_properties();
    checker.unique_state_count()
}

/// With a fence taken away, this is found broken.
fn breaks<M>(world: M, property: &'static str)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + std::fmt::Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static,
{
    let found = HasDiscoveries::AnyOf([property].into());
    let checker = world.checker().finish_when(found).spawn_bfs().join();
    assert!(checker.discovery(property).is_some(), "without the fence nothing is wrong with `{property}`");
}
