//! Pauses, what is sent to their triggers, and what came of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One wait behind a step of a workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PauseView {
    pub workflow_id: String,
    /// The name of its definition.
    pub workflow: String,
    /// Where the workflow is; a pause of one that is held or has failed waits too.
    pub workflow_state: String,
    /// The step behind which it stands, and the run of it.
    pub step: String,
    pub run: u32,
    /// `trigger` or `scheduled`.
    #[schemars(extend("enum" = ["trigger", "scheduled"]))]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// `waiting`, `resumed`, `timed_out` or `cancelled`.
    #[schemars(extend("enum" = ["waiting", "resumed", "timed_out", "cancelled"]))]
    pub state: String,
    pub registered_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_at: Option<String>,
    pub reminders: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The number of what it went on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumed: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PausePage {
    pub pauses: Vec<PauseView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What came of something that was sent to a trigger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriggeredView {
    pub workflow_id: String,
    pub trigger: String,
    /// `accepted`, `early`, `rejected`, `late` or `duplicate`.
    #[schemars(extend("enum" = ["accepted", "early", "rejected", "late", "duplicate"]))]
    pub verdict: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Where the workflow is now.
    pub state: String,
}

/// Something that was sent to a trigger.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TriggerPayloadView {
    pub number: u64,
    pub trigger: String,
    pub verdict: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    pub received_at: String,
    /// Who sent it, and from which address.
    pub identity: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Box<RawValue>>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TriggerPayloadPage {
    /// The newest first.
    pub triggers: Vec<TriggerPayloadView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A new token of a pause. It is told once.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct TokenView {
    pub token: String,
    /// Where somebody can answer with it.
    pub page: String,
}
