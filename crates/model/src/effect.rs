//! What a rule asks for. An effect can be carried out without knowing why.

use crate::{BlockId, Detail, Event, Look, Polls, Reason, StepId, Sweep, Timestamp};
use std::sync::Arc;

/// One event for one step, with what else the row should say.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    pub step: StepId,
    pub event: Event,
    /// Instead of the reason the event itself gives.
    pub reason: Option<Reason>,
    pub wake_at: Option<Timestamp>,
    /// What it did is to be looked at again.
    pub look: Option<Look>,
    /// A poll was answered, and this is known since.
    pub polled: Option<Arc<Polls>>,
    pub detail: Detail,
}

impl Move {
    pub fn new(step: StepId, event: Event) -> Move {
        Move { step, event, reason: None, wake_at: None, look: None, polled: None, detail: Detail::default() }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    MoveStep(Box<Move>),
    /// The job of a parent returned: it waits for its children without a worker.
    Park {
        step: StepId,
        detail: Box<Detail>,
    },
    /// More than half of its executions are used up.
    RaisePriority {
        step: StepId,
    },
    /// A result that came too late: counted, not applied.
    RecordLate {
        step: StepId,
    },
    StartSweep {
        block: BlockId,
        sweep: Sweep,
    },
    AdvanceSweep {
        block: BlockId,
        after: (u32, StepId),
    },
    EndSweep {
        block: BlockId,
    },
    /// Steps at this index may run now.
    OpenIndex {
        block: BlockId,
        index: u32,
    },
    OpenResolverIndex {
        block: BlockId,
        index: u32,
    },
    /// The block's failure has been answered by its resolvers.
    ResolversWoken {
        block: BlockId,
    },
}
