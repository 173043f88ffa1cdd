//! The phases of the dispatcher, as a table. Each is one file with one function over one block's view.

mod advance;
mod cancel_later;
mod cascade_cancel;
mod cascade_failure;
mod complete_parents;
mod exhaust_retries;
mod fail_parents;
mod promote_resolvers;
mod skip_children;
pub mod sweep;
mod verdict;

pub use advance::decide as advance;
pub use verdict::{Verdict, verdict};

use model::{Block, Effect, Event, Step};

/// What a phase may see: a block's summary, its owner, and the steps that moved.
pub struct View<'a> {
    pub block: Option<&'a Block>,
    pub owner: Option<&'a Step>,
    pub touched: Vec<&'a Step>,
}

/// How far one phase reaches in one tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// The next level falls in a later phase or tick.
    Level,
    /// Blocks below the ones it moved fall with them.
    Subtree,
}

pub struct Phase {
    pub name: &'static str,
    pub decide: fn(&View) -> Vec<Effect>,
    pub reach: Reach,
    /// The sweep it starts, so that later pages are told under its name.
    pub sweeps: Option<Event>,
}

pub const PIPELINE: [Phase; 8] = [
    Phase {
        name: "skip_children",
        decide: skip_children::decide,
        reach: Reach::Subtree,
        sweeps: Some(Event::ParentSkipped),
    },
    Phase {
        name: "cascade_cancel",
        decide: cascade_cancel::decide,
        reach: Reach::Level,
        sweeps: Some(Event::ParentCancelled),
    },
    Phase {
        name: "cancel_later_indexes",
        decide: cancel_later::decide,
        reach: Reach::Subtree,
        sweeps: Some(Event::PredecessorFailed),
    },
    Phase {
        name: "promote_resolvers",
        decide: promote_resolvers::decide,
        reach: Reach::Level,
        sweeps: Some(Event::Promoted),
    },
    Phase { name: "fail_parents", decide: fail_parents::decide, reach: Reach::Level, sweeps: None },
    Phase {
        name: "cascade_failure",
        decide: cascade_failure::decide,
        reach: Reach::Level,
        sweeps: Some(Event::ParentFailed),
    },
    Phase {
        name: "complete_or_cancel_parents",
        decide: complete_parents::decide,
        reach: Reach::Level,
        sweeps: None,
    },
    Phase { name: "exhaust_retries", decide: exhaust_retries::decide, reach: Reach::Level, sweeps: None },
];

/// The two phases behind the breaker, named for ticks and logs.
pub const PICK: &str = "pick";
pub const DISPATCH: &str = "dispatch";

/// Close a block from above: everything live in it meets the same event.
fn close(view: &View, event: Event) -> Vec<Effect> {
    let Some(block) = view.block else { return Vec::new() };
    let closing = block.sweep.is_some_and(|s| s.kind == model::SweepKind::Close);
    if closing || block.unsettled() == 0 {
        return Vec::new();
    }
    let sweep = model::Sweep { kind: model::SweepKind::Close, event, above: 0, after: None };
    vec![Effect::StartSweep { block: block.id, sweep }]
}
