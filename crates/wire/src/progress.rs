//! How far something is: a workflow, a tree of steps, or a tracked flow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartView {
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it came to where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Of a fan-out, or a step with steps below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<PartItems>,
    /// What is known of it: why it is not moving, or what went wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartItems {
    pub done: u32,
    pub failed: u32,
    pub of: u32,
}

/// How far one thing is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressShow {
    /// `workflow`, `step` or `flow`.
    #[schemars(extend("enum" = ["workflow", "step", "flow"]))]
    pub kind: String,
    pub id: String,
    /// The definition, the action, or the type of flow.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// Whom it is done for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// `pending`, `running`, `failed`, `completed` or `cancelled`.
    #[schemars(extend("enum" = ["pending", "running", "failed", "completed", "cancelled"]))]
    pub state: String,
    /// From 0 to 100.
    pub percent: f64,
    /// Fit for whom it is done for.
    pub sentence: String,
    pub completed: Vec<PartView>,
    /// Begun or not.
    pub pending: Vec<PartView>,
    pub failed: Vec<PartView>,
    pub skipped: Vec<PartView>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cancelled: Vec<PartView>,
    /// Parts that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When something happened last.
    pub since: String,
    /// The part that it is at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    /// Somebody should look if it is not over by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_at: Option<String>,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What is half done, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressPage {
    pub half_done: Vec<ProgressShow>,
    /// Give it as `after` to read on; there may be a next page though this one is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
