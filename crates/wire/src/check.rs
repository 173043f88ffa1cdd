//! What a check of the whole database found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that must not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingView {
    pub invariant: String,
    pub title: String,
    /// What it is about, for example `step 0197…`.
    pub entity: String,
    pub problem: String,
}

/// One thing that must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InvariantView {
    pub invariant: String,
    pub title: String,
    /// How far it was looked at, when not wholly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What was looked at, and what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckView {
    pub clean: bool,
    /// How many invariants were looked at.
    pub invariants: usize,
    pub findings: Vec<FindingView>,
    #[serde(default)]
    pub looked_at: Vec<InvariantView>,
}
