//! Polls: steps that wait for their next one, what came of the last, and what was put back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A step that waits for its next poll.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PollingView {
    pub step_id: String,
    pub step_key: Option<String>,
    /// The workflow it is a step of, and the key of its definition.
    pub workflow_id: Option<String>,
    pub workflow: Option<String>,
    pub action: String,
    pub queue: String,
    pub dispatch_group: String,
    /// Polls that were answered.
    pub polls: u32,
    pub poll_started_at: Option<String>,
    /// Left out while its workflow is held.
    pub next_poll_at: Option<String>,
    /// Its time has come.
    pub is_due: bool,
}

/// Steps that wait for their next poll, the one that is due first in front; `next` is the `after` of the following page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PollPage {
    pub polls: Vec<PollingView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// How far the polls of a step are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PollsView {
    /// Polls that were answered.
    pub made: u32,
    /// When the first of them began.
    pub started_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<String>,
    /// Those that are on record, oldest first; in the view of a workflow the last few.
    pub last: Vec<PollView>,
}

/// One poll that was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PollView {
    /// The how-manieth it was, from 1, and the attempt of its step.
    pub number: u32,
    pub attempt: u32,
    pub at: String,
    /// `complete`, `continue` or `abort`.
    #[schemars(extend("enum" = ["complete", "continue", "abort"]))]
    pub verdict: String,
    /// The wait that it chose itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_interval_ms: Option<u64>,
    /// How what it said begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// What put back polls that somebody should have made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecoverBody {
    /// Those that are due for longer than so many seconds; an hour when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Polls that were put back, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveredView {
    pub steps: Vec<String>,
    pub dry_run: bool,
}
