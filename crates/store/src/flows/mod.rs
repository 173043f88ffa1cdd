//! Tracked flows: orders in, answers out, beside the turns as those about executions.
//!
//! Why    whoever does the work is not ours and says what it did from anywhere. An order says all that is needed to carry it out again
//!        after an answer was lost, and finds what it did before.

mod carry_out;
mod list;
mod read;

pub(crate) use carry_out::carry_out;
#[cfg(test)]
pub(crate) use list::texts;
pub use list::{FlowFilter, page};
pub use read::{FlowShown, asked_last, find, half_done, show, steps};

use model::{Flow, FlowAsk, FlowId, FlowState, FlowStep, FlowStepState, StepId};
use rules::flow::{FlowRefusal, Wish};

/// What is said about a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowWord {
    /// A step was completed, skipped, or failed.
    Mark {
        step: String,
        to: FlowStepState,
    },
    /// Where it is, as its own code sees it.
    Update {
        to: Option<FlowState>,
    },
    Finish {
        to: FlowState,
    },
    /// Somebody wants it retried or cancelled; the step that does that has been made, where one does.
    Asked {
        wish: Wish,
        seen: u64,
        step: Option<StepId>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum FlowOrder {
    Start(Box<FlowAsk>),
    Say { flow: FlowId, word: FlowWord, message: Option<String>, by: String },
}

impl FlowOrder {
    /// Orders are carried out by this, so that two nodes never wait for each other.
    pub(crate) fn flow(&self) -> FlowId {
        match self {
            FlowOrder::Start(ask) => ask.id,
            FlowOrder::Say { flow, .. } => *flow,
        }
    }
}

/// A flow with its steps, as an order left it.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowNow {
    pub flow: Flow,
    pub steps: Vec<FlowStep>,
    /// The order changed something.
    pub changed: bool,
}

/// What became of an order.
pub type FlowTold = Result<Box<FlowNow>, FlowRefusal>;
