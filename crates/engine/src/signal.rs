//! What nodes tell each other through the database, and how a caller gets the answer.
//!
//! Why    a dispatch group has one decider. Whatever another node is asked for and may not decide, it writes down for the
//!        owner; the owner's commit holds the effects and the answer, and the caller waits for it.

use crate::EngineError;
use crate::request::{GroupOperation, Operation, Sent, WorkflowOperation};
use crate::triggers::{TokenOrder, TriggerOrder};
use model::{
    BlockId, Claim, DispatchGroup, Event, Name, NewStep, NotBegun, Notice, Place, Priority, Report,
    SessionId, SignalId, State, Step, StepId, StepKind, Timestamp, TokenHash, Waiting, WorkflowId,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::{Sort, StoreError};
use tokio::sync::oneshot;

/// How signals begin that tell of ends, and those that tell what steps meet.
pub const ENDED: &str = r#"{"ended":"#;
pub const FOLLOW: &str = r#"{"follow":"#;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// New trees were stored here by somebody else.
    Arrived(Arrived),
    Create {
        steps: Vec<NewStep>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    Reports {
        reports: Vec<Report>,
    },
    Operate {
        operation: Operation,
    },
    OperateGroup {
        operation: GroupOperation,
    },
    OperateWorkflow {
        operation: WorkflowOperation,
    },
    Trigger {
        order: TriggerOrder,
    },
    PauseToken {
        order: TokenOrder,
        hash: TokenHash,
    },
    /// A channel is to be told this; who decides for its group decides whether it is.
    Tell {
        channel: String,
        notice: Box<Notice>,
    },
    /// So much of what a channel is to be told is more than it takes.
    Gathered {
        channel: String,
        waiting: Waiting,
    },
    /// The turn of these steps has come in their blocks: they stand in line here.
    Join {
        steps: Vec<StepId>,
    },
    /// These steps meet what was decided for their blocks.
    Follow {
        steps: Vec<(StepId, Option<StepId>)>,
        event: Event,
    },
    /// Steps of blocks here ended elsewhere.
    Ended {
        steps: Vec<Ended>,
    },
    /// A session of another node was sent for a step.
    Begin(Sent),
    /// A session of another node has room for this many steps.
    Pull {
        session: SessionId,
        places: usize,
    },
    /// A session of another node has lost these.
    Lost {
        session: SessionId,
        steps: Vec<(StepId, u32)>,
    },
    /// A session of another node stops in good order.
    GivenBack {
        session: SessionId,
        steps: Vec<(StepId, u32)>,
    },
    /// The owner took these from a session of this node.
    Revoked {
        session: SessionId,
        steps: Vec<(StepId, u32)>,
    },
}

/// A step that ended away from its block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    pub step: StepId,
    pub place: Place,
    pub kind: StepKind,
    pub to: State,
    pub event: Event,
}

/// Where to look for what arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrived {
    /// The first ready root of each queue and priority.
    #[serde(default)]
    pub roots: Vec<(Name, Priority, StepId)>,
    /// The same of each pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pooled: Vec<(Name, Name, Priority, StepId)>,
    /// The first of each message group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(Name, i32, StepId)>,
    /// Blocks that may have ready steps.
    #[serde(default)]
    pub blocks: Vec<BlockId>,
    /// Workflows that are to be begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workflows: Vec<WorkflowId>,
    /// What is due soon.
    #[serde(default)]
    pub wakes: Vec<(Timestamp, StepId)>,
    /// When the first of them is due, if more are due soon than are named.
    #[serde(default)]
    pub due: Option<Timestamp>,
    /// What was stored without being counted, by queue and action: the owner counts it with the commit that hears of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncounted: Vec<(Name, Name, i64)>,
}

impl Arrived {
    /// A ready root; the first of its sort is named.
    pub fn note(&mut self, step: &Step) {
        let (queue, priority) = (step.queue.clone(), step.priority);
        match &step.pool {
            None if !self.roots.iter().any(|(q, p, _)| *q == queue && *p == priority) => {
                self.roots.push((queue, priority, step.id));
            }
            Some(pool)
                if !self.pooled.iter().any(|(o, q, p, _)| o == pool && *q == queue && *p == priority) =>
            {
                self.pooled.push((pool.clone(), queue, priority, step.id));
            }
            _ => {}
        }
    }
    /// A step of a line; the first of each is named.
    pub fn note_line(&mut self, step: &Step) {
        let Some(member) = step.line() else { return };
        let (sequence, place) = member.rank();
        match self.lines.iter_mut().find(|(group, _, _)| *group == member.group) {
            Some(line) if (sequence, place) < (line.1, line.2) => (line.1, line.2) = (sequence, place),
            Some(_) => {}
            None => self.lines.push((member.group.clone(), sequence, place)),
        }
    }
    /// The first ready root of each sort.
    pub fn sorts(&mut self, dispatch_group: &DispatchGroup) -> Vec<(Sort, StepId)> {
        let roots = std::mem::take(&mut self.roots).into_iter().map(|(q, p, id)| (None, q, p, id));
        let pooled = std::mem::take(&mut self.pooled).into_iter().map(|(o, q, p, id)| (Some(o), q, p, id));
        let sort = |(pool, queue, priority, id)| {
            (Sort { dispatch_group: dispatch_group.clone(), queue, priority, pool }, id)
        };
        roots.chain(pooled).map(sort).collect()
    }
}

/// What a session was given by the owner of another node, with the group of each step.
pub type Pulled = Vec<(DispatchGroup, Claim)>;

/// What came of being sent for a step: begun, and given as any other work; to who asks from another node, in the answer.
pub type Taken = Result<Pulled, NotBegun>;

/// Who waits for an answer.
pub enum Reply<T> {
    Caller(oneshot::Sender<Result<T, EngineError>>),
    /// Somebody on another node; the answer is written down with the turn.
    Signal(SignalId),
}

impl<T> Reply<T> {
    /// Answer a caller now. A signal that could not be dealt with stays where it is, and is looked at again.
    pub fn send(self, answer: Result<T, EngineError>) {
        if let Reply::Caller(caller) = self {
            // A caller that went away has nobody to tell.
            let _ = caller.send(answer);
        }
    }
}

/// An answer as it is written down.
pub fn written<T: Serialize>(answer: &Result<T, EngineError>) -> String {
    serde_json::to_string(answer).expect("an answer is plain data")
}

/// An answer as it was written down.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, EngineError> {
    let strange = |e: serde_json::Error| {
        EngineError::Unavailable(StoreError::Refused(format!(
            "the answer of another node is not understood: {e}"
        )))
    };
    serde_json::from_str::<Result<T, EngineError>>(text).map_err(strange)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_begin_as_they_are_looked_for() {
        let written = |signal: Signal| serde_json::to_string(&signal).expect("a signal is plain data");
        assert!(written(Signal::Ended { steps: Vec::new() }).starts_with(ENDED));
        assert!(written(Signal::Follow { steps: Vec::new(), event: Event::Superseded }).starts_with(FOLLOW));
    }
}
