//! What a person asks of one step, and what came of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a step is moved by hand, and who does it. Both go into the audit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OperateBody {
    /// `by hand` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// With a key it is the key that acts, whatever stands here; else `loopback` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What was taken away, by its name or id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedView {
    pub removed: String,
}

/// One step that moved; `from` is none for a step that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MoveView {
    pub step_id: String,
    pub from: Option<String>,
    pub to: String,
}

/// What an operation did, or would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperatedView {
    pub step_id: String,
    pub from: String,
    pub to: String,
    /// The step that took its place, after a retry.
    pub replaced_by: Option<String>,
    /// Every step that moved with it in the same turn.
    pub moves: Vec<MoveView>,
}
