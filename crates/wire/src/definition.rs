//! Definitions of workflows: what came of storing one, and what is on record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What came of storing a definition, or would.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionApplied {
    pub workflow: String,
    pub version: String,
    pub hash: String,
    /// `created`, or `unchanged` when this version is on record and says the same.
    #[schemars(extend("enum" = ["created", "unchanged"]))]
    pub outcome: String,
    /// What it says differently from the newest version before it.
    pub changes: Vec<String>,
    /// Other versions with workflows that are not over.
    pub live: Vec<LiveVersion>,
}

/// A version that workflows still run, and what would break them if they went on with another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveVersion {
    pub version: String,
    /// Its workflows that are not over.
    pub running: u64,
    pub would_break: Vec<String>,
}

/// One thing wrong with a definition: where in the file, what, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionFault {
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    pub message: String,
    pub fix: String,
    /// The path of what it is about, for example `steps[2].branch.choose`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// A version of a definition on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionView {
    pub workflow: String,
    pub version: String,
    pub hash: String,
    pub created_at: String,
    pub created_by: String,
    /// Its workflows that are not over.
    pub live: u64,
}

/// Definitions by name, and of each name the newest version first; `next` is the `after` of the following page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionPage {
    pub definitions: Vec<DefinitionView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A version of a definition with what it says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionShow {
    #[serde(flatten)]
    pub about: DefinitionView,
    pub definition: Value,
}

/// One thing that a version says differently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionChange {
    /// `added`, `removed`, `moved` or `option`.
    #[schemars(extend("enum" = ["added", "removed", "moved", "option"]))]
    pub change: String,
    /// The step that it is about; left out for an option of the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
    /// The same in words.
    pub told: String,
}

/// What one version says differently from another; nothing where they say the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionDiff {
    pub changes: Vec<DefinitionChange>,
}
