//! A workflow: one run of a definition, pinned to its version.

use crate::resolution::Aftermath;
use crate::state::words;
use crate::{DispatchGroup, Name, PausedBy, StepId, Timestamp, Trace, UnknownWord, WorkflowId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

words!(
    /// Where a workflow is.
    WorkflowState, "workflow state" {
        /// On record, and no step of it yet.
        Pending = "pending",
        Running = "running",
        Paused = "paused",
        Succeeded = "succeeded",
        /// Nothing new starts; a person may still decide otherwise.
        Failed = "failed",
        Cancelled = "cancelled",
        /// What was done is being undone.
        Compensating = "compensating",
        Compensated = "compensated",
        /// Something could not be undone; a person decides.
        CompensationFailed = "compensation_failed",
    }
);

impl WorkflowState {
    /// Steps of it may start.
    pub fn is_going_on(self) -> bool {
        matches!(self, WorkflowState::Pending | WorkflowState::Running)
    }
    pub fn is_over(self) -> bool {
        matches!(
            self,
            WorkflowState::Succeeded
                | WorkflowState::Failed
                | WorkflowState::Cancelled
                | WorkflowState::Compensated
        )
    }
    /// Nothing leads out of it.
    pub fn is_final(self) -> bool {
        matches!(self, WorkflowState::Succeeded | WorkflowState::Cancelled | WorkflowState::Compensated)
    }
}

/// Which definition, exactly.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pinned {
    pub key: Name,
    pub version: Name,
    pub hash: Name,
}

/// One run of a definition.
#[derive(Clone, PartialEq, Debug)]
pub struct Workflow {
    pub id: WorkflowId,
    pub definition: Arc<Pinned>,
    /// Where it is decided.
    pub dispatch_group: DispatchGroup,
    pub state: WorkflowState,
    /// Why it is paused, if it is.
    pub paused_by: Option<PausedBy>,
    /// Why it is where it is, in words; the error of one that failed.
    pub message: Option<String>,
    /// The step that started it and waits for its end.
    pub parent: Option<StepId>,
    /// How many workflows are above it.
    pub depth: u32,
    pub input: Arc<str>,
    pub output: Option<Arc<str>>,
    pub labels: Arc<[(String, String)]>,
    /// The trace that it was asked for in, if any.
    pub trace: Option<Arc<Trace>>,
    /// Only so many with the same key are done at once.
    pub concurrency_key: Option<Name>,
    /// Somebody should look if it is not over by then.
    pub expected_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    /// When it is looked at again: a wait of it ends, or its time or that of a step is over.
    pub wake_at: Option<Timestamp>,
    /// What came of its failures; most never have one.
    pub aftermath: Option<Box<Aftermath>>,
    /// How often the row was written; every write names the one it saw.
    pub version: u64,
}

impl Workflow {
    /// Where it is, while something may still happen to it: it goes on, or it failed and nobody has decided about it.
    pub fn open_state(&self) -> Option<WorkflowState> {
        let is_resolved = self.aftermath.as_ref().is_some_and(|after| after.resolved_at.is_some());
        let is_closed = self.state.is_final() || self.state == WorkflowState::Failed && is_resolved;
        (!is_closed).then_some(self.state)
    }
}

/// The actions of steps of workflows that no worker runs.
pub const WAIT_ACTION: &str = "stepfast.wait";
pub const BRANCH_ACTION: &str = "stepfast.branch";
/// Of a step that waits for its children: one for each item, or one that stands in a line.
pub const ITEMS_ACTION: &str = "stepfast.items";
pub const WORKFLOW_ACTION: &str = "stepfast.workflow";

/// The part of a step in a workflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InWorkflow {
    pub workflow: WorkflowId,
    /// The number of its step in the definition, from 0; behind them all come those that undo them, in the same order.
    pub def: u32,
    /// The n-th time this step of the definition is done, from 1.
    pub run: u32,
    /// Which item of a fan-out it is, from 0; the step itself is none of them.
    pub item: Option<u32>,
}

/// Which branches were taken, and from what.
#[derive(Clone, PartialEq, Debug)]
pub struct BranchDecision {
    pub workflow: WorkflowId,
    /// The step at which it was decided.
    pub step_key: String,
    /// `when`, `branch` or `terminate_when`.
    pub kind: &'static str,
    pub expression: String,
    /// What was chosen: branch keys as JSON, or whether it holds.
    pub result: String,
    /// The values it was decided from, shortened.
    pub inputs: String,
    pub at: Timestamp,
}
