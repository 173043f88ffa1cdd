//! What becomes of a workflow that failed: what is decided about it, what is undone, and from where it is done again.

use crate::definition::OnCancel;
use crate::state::words;
use crate::{StepId, Timestamp, UnknownWord, WorkflowId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What came of a workflow's failures, and of what people decided about them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Aftermath {
    /// How often it was tried again by itself since a step last succeeded where it had failed.
    pub auto_retries: u32,
    /// When it is tried again by itself.
    pub auto_retry_at: Option<Timestamp>,
    /// When it was last done again from some step: its time is counted from there.
    pub restarted_at: Option<Timestamp>,
    /// Failed, and nobody is asked any more.
    pub resolved_at: Option<Timestamp>,
    pub cancel_requested_at: Option<Timestamp>,
    pub compensation_started_at: Option<Timestamp>,
    pub compensated_at: Option<Timestamp>,
    /// How often something of it was undone; the plan of the last.
    pub compensations: u32,
    /// Something that was to be undone was left as it is.
    pub has_skips: bool,
    /// What is undone, until the plan of it is made, and what happens when it is.
    pub undo: Option<Undo>,
}

/// What is to be undone, and then.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Undo {
    pub scope: CompensationScope,
    pub reason: String,
    /// It is waited for what still runs until then.
    pub until: Timestamp,
    /// The plan is made.
    pub planned: bool,
    /// The step from which it is done again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then_retry_from: Option<String>,
    /// Which items of fan-outs are then done again, against what the definition says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then_items: Option<RetryItems>,
}

/// Which of the steps that were done are undone.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompensationScope {
    #[default]
    Full,
    Partial(Vec<String>),
    /// A step and all behind it.
    FromStep(String),
    /// All behind a step.
    AfterStep(String),
}

/// What a person, or the workflow's own strategy, decided about a workflow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// What failed is done again.
    Retry {
        /// Of fan-outs, against what `retry.scope` says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        items: Option<RetryItems>,
    },
    RetryFromStep {
        step: String,
        #[serde(default)]
        mode: RetryMode,
        /// The step itself is undone too.
        #[serde(default)]
        include_step: bool,
        /// Although it succeeded.
        #[serde(default)]
        force: bool,
        /// Of fan-outs, against what `retry.scope` says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        items: Option<RetryItems>,
    },
    Compensate {
        #[serde(default)]
        scope: CompensationScope,
    },
    Cancel {
        /// Against what the definition says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_cancel: Option<OnCancel>,
    },
    MarkResolved,
    RetryCompensation,
    /// What could not be undone is left as it is; or all that is left.
    SkipCompensation {
        #[serde(default)]
        all: bool,
    },
}

impl Decision {
    /// What failed is done again, as its definition says.
    pub const RETRY: Decision = Decision::Retry { items: None };
    pub fn word(&self) -> &'static str {
        match self {
            Decision::Retry { .. } => "retry",
            Decision::RetryFromStep { .. } => "retry_from_step",
            Decision::Compensate { .. } => "compensate",
            Decision::Cancel { .. } => "cancel",
            Decision::MarkResolved => "mark_resolved",
            Decision::RetryCompensation => "retry_compensation",
            Decision::SkipCompensation { .. } => "skip_compensation",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryMode {
    #[default]
    RetryOnly,
    CompensateThenRetry,
}

words!(
    /// Which items of a fan-out are done again.
    RetryItems, "choice of items" {
        /// Those that did not succeed; the others keep what they answered.
        Failed = "failed",
        All = "all",
    }
);

words!(
    /// Why a step of a definition is done once more.
    RetrySource, "retry source" {
        FailedRetry = "failed_retry",
        RetryFromStep = "retry_from_step",
        AutoRetry = "auto_retry",
    }
);

/// A decision on record.
#[derive(Clone, PartialEq, Debug)]
pub struct ResolutionDecision {
    pub workflow: WorkflowId,
    pub decision: Decision,
    pub by: String,
    pub why: String,
    pub at: Timestamp,
}

words!(
    /// Where the undoing of a step is.
    CompensationState, "compensation state" {
        Pending = "pending",
        Running = "running",
        Succeeded = "succeeded",
        Failed = "failed",
        Skipped = "skipped",
    }
);

/// One line of the plan of what is undone.
#[derive(Clone, PartialEq, Debug)]
pub struct CompensationRun {
    pub workflow: WorkflowId,
    /// Which of the workflow's compensations it is part of, from 1.
    pub compensation: u32,
    /// Its place in the order, from 0.
    pub position: u32,
    pub step_key: String,
    /// What is undone.
    pub undoes: StepId,
    pub action: String,
    pub state: CompensationState,
    /// The step that undoes it, or the last of them.
    pub step: Option<StepId>,
    /// Items of a fan-out that are undone, and those that were left.
    pub items_done: u32,
    pub items_skipped: u32,
    /// The last item that was looked at: when it ended, and which.
    pub cursor: Option<(Timestamp, StepId)>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub failure_message: Option<String>,
}
