//! The records of what is done once: orders in, answers out, many of them in one commit.
//!
//! Why    callers are many and small, and none of them has anything to do with a turn. An order says all that is needed to
//!        carry it out again after an answer was lost, so whoever carries it out may simply try again.

mod carry_out;
mod commit;
mod read;

pub use commit::Call;
pub(crate) use commit::{answer_each, in_one_commit};
pub use read::{ExecutionFilter, ExecutionLine, ExecutionShown, list, list_since, show};

use crate::flows::{FlowOrder, FlowTold};
use crate::{Asked, Result};
use model::{ExecutionAsk, ExecutionName, FlowId, InputHash, OwnerToken, Standing, Timestamp};
use rules::idempotency::Refusal;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// The way to the records, for any number of callers; an order that is never carried out drops its `done`.
pub trait Ledger: Send + Sync {
    fn now(&self) -> Timestamp;
    fn order(&self, order: Order, done: Done);
}

/// Called once an order is durable, or has failed; it must not block.
pub type Done = Box<dyn FnOnce(Result<Told>) + Send>;

#[derive(Clone, Debug)]
pub enum Order {
    Begin(ExecutionAsk),
    /// End what this owner began, as done or as failed.
    End {
        name: ExecutionName,
        owner: OwnerToken,
        how: Standing,
    },
    Renew {
        name: ExecutionName,
        owner: OwnerToken,
        lease: Duration,
    },
    /// One page of records whose time is over, or that were made before an instant.
    Forget {
        made_before: Option<Timestamp>,
        /// Whoever asked for it, for the record; what is over is forgotten by itself too.
        asked: Option<Asked>,
    },
    /// How many that would be.
    CountForgotten {
        made_before: Option<Timestamp>,
    },
    Show(ExecutionName),
    List(ExecutionFilter),
    /// About a tracked flow, which goes the same way.
    Flow(FlowOrder),
}

impl Order {
    /// Whose record it concerns.
    pub(crate) fn name(&self) -> Option<&ExecutionName> {
        match self {
            Order::Begin(ask) => Some(&ask.name),
            Order::End { name, .. } | Order::Renew { name, .. } | Order::Show(name) => Some(name),
            Order::Forget { .. } | Order::CountForgotten { .. } | Order::List(_) | Order::Flow(_) => None,
        }
    }

    /// Orders are carried out by what they concern, so that two nodes never wait for each other.
    pub(crate) fn rank(&self) -> (Option<&ExecutionName>, Option<FlowId>) {
        let flow = match self {
            Order::Flow(order) => Some(order.flow()),
            _ => None,
        };
        (self.name(), flow)
    }
}

/// What became of an order.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    Beginning(Beginning),
    Ended,
    Renewed { lease_ends_at: Timestamp },
    Refused(Refusal),
    Forgotten { executions: u64, more: bool },
    Shown(Option<Box<ExecutionShown>>),
    Listed(Vec<ExecutionLine>),
    Flow(FlowTold),
}

/// What somebody who wants to begin is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Beginning {
    Begun { attempt: u32, lease_ends_at: Timestamp },
    Replay { answer: String },
    Wait { until: Timestamp },
    Conflict,
    GivenUp { failures: u32, error: String },
}

/// The hash of a text that is worked on.
pub fn input_hash(text: &[u8]) -> InputHash {
    InputHash(Sha256::digest(text).into())
}
