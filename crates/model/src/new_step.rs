//! A step as someone asks for it, before any rule has looked at it.

use crate::{BlockId, StepId, Success, unreadable};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

/// One step to create. Only the action is required.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NewStep {
    pub action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// The pool whose limits it shares with others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Steps of one message group are done one after another, if their mode says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_group: Option<String>,
    /// Lower goes first in its message group; usually 99.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<i32>,
    /// `immediate`, `next_on_error` or `block_on_error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatch_group: Option<String>,
    /// `default` or `resolve-exception`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relatable_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relatable_id: Option<String>,
    /// The block this step stands in; with none it stands alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_id: Option<BlockId>,
    /// Position in the block; 0 and none become 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Put this step into the child block of that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_step_id: Option<StepId>,
    /// The block this step owns, when its steps come later or stand beside it in this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_block_id: Option<BlockId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<NewStep>,
    /// When the children make this step succeed: `all`, `majority`, `best_effort`, `at_least:N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<String>,
    /// Not before this instant, in microseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatch_after: Option<i64>,
    /// Not before this many milliseconds from now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Not wanted any more if it has not started by this instant, in microseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// How long one execution may take; beyond it, the step is taken from its worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Executions including the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_factor: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_max_delay_ms: Option<u64>,
    /// The trace that it is asked for in, as the header `traceparent` says it; usually from that header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

impl NewStep {
    pub fn of(action: &str) -> NewStep {
        NewStep { action: action.into(), ..NewStep::default() }
    }
    /// With these arguments, as JSON.
    pub fn with(self, arguments: &impl Serialize) -> Result<NewStep, serde_json::Error> {
        Ok(NewStep { arguments: Some(serde_json::value::to_raw_value(arguments)?), ..self })
    }
}

impl PartialEq for NewStep {
    fn eq(&self, other: &NewStep) -> bool {
        serde_json::to_string(self).ok() == serde_json::to_string(other).ok()
    }
}

pub type NewSteps = Vec<NewStep>;

impl Success {
    pub const WORDS: &'static str = "all, majority, best_effort, at_least:N";
}

/// One thing wrong with a request: where, what, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{field}: {problem}; {fix}")]
pub struct Fault {
    /// The path of the field, for example `steps[3].children[0].index`.
    pub field: String,
    pub problem: String,
    pub fix: String,
}

impl Fault {
    /// Not every database keeps the character zero in a text, so none is given one.
    pub fn nul(field: impl Into<String>) -> Fault {
        Fault { field: field.into(), problem: "contains a NUL character".into(), fix: "remove it".into() }
    }
    /// What is to be read as a value, and cannot be.
    pub fn json(field: impl Into<String>, text: &str) -> Option<Fault> {
        let problem = format!("cannot be read as JSON: {}", unreadable(text)?);
        let fix =
            "send JSON that every reader takes: whole characters, numbers in range, not nested too deep";
        Some(Fault { field: field.into(), problem, fix: fix.into() })
    }
}
