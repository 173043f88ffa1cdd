//! Tracked flows: work that runs elsewhere, and how far it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Start a run of a flow, or go on with the one that is not over.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowBody {
    /// The kind of flow, for example `payment_processing`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Which of its kind; may be left out where the entity says enough.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub entity_type: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub entity_id: String,
    /// Whom it is done for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default)]
    pub steps: Vec<FlowStepBody>,
    /// Steps may be named later that are not among these; then it is completed by `finish` alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Somebody should look when it is not over by then; 1800 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// What the one whom it is done for may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What is enqueued when somebody asks for it to be retried, or cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<FlowActionBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<FlowActionBody>,
    /// `resume` goes on with the run that is not over, `new` makes another in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A step, by its name alone or with whether the flow is whole without it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields, expecting = "a step is a name, or {\"name\": …, \"optional\": true}")]
pub enum FlowStepBody {
    Name(String),
    Said {
        name: String,
        #[serde(default)]
        optional: bool,
    },
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowActionBody {
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
}

/// What is said about a step of a flow, or about the flow itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlowSayBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Where a flow is: `pending` or `running` for `/state`; `completed`, `failed` or `cancelled` for `/finish`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlowStateBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["pending", "running", "completed", "failed", "cancelled", null]))]
    pub state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowView {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub entity_type: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub entity_id: String,
    pub run: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// `pending`, `running`, `failed`, `completed`, `cancelled` or `superseded`.
    #[schemars(extend("enum" = ["pending", "running", "failed", "completed", "cancelled", "superseded"]))]
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub open: bool,
    pub started_at: String,
    pub started_by: String,
    /// When something was said about it last.
    pub updated_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progressed_at: Option<String>,
    pub timeout_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Whether something is declared that retries it, or cancels it.
    pub can_retry: bool,
    pub can_cancel: bool,
    pub revision: u64,
}

/// Flows, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowPage {
    pub flows: Vec<FlowView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowStepView {
    pub name: String,
    pub state: String,
    pub optional: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowMomentView {
    pub number: u64,
    pub at: String,
    pub event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Where the flow was then.
    pub state: String,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A flow as it is after something was said about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowNowView {
    pub flow: FlowView,
    pub steps: Vec<FlowStepView>,
    pub percent: f64,
    /// One sentence for whom it is done for.
    pub sentence: String,
    /// What was said was new.
    pub changed: bool,
    /// The step that was made for it, when it was asked to be retried or cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<String>,
}

/// One flow with its steps and everything that was said about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowShow {
    pub flow: FlowView,
    pub steps: Vec<FlowStepView>,
    pub percent: f64,
    pub sentence: String,
    /// Oldest first; of a long history the last.
    pub history: Vec<FlowMomentView>,
}
