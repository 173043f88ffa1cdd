//! Executions: something done once under a key, however often it is asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Ask to begin. The same key with another `input` is refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginBody {
    /// The kind of work, for example `payments.credit`.
    pub namespace: String,
    pub key: String,
    /// What is worked on: any JSON, compared as data.
    #[serde(default)]
    pub input: Value,
    /// A UUID made by the caller, so that asking again after a lost answer finds its own beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// How long the caller may be silent before another takes over; 60 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<u64>,
    /// Failures after which it is given up; 3 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// How long the answer is kept; 90 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_days: Option<f64>,
}

/// Do it now, or take the answer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BegunView {
    /// `begun`: do it, then complete or fail it as this owner. `replay`: it is done, and this was its answer.
    #[schemars(extend("enum" = ["begun", "replay"]))]
    pub verdict: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ends_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<RawValue>>,
}

/// Record the answer of what this owner began.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteBody {
    pub namespace: String,
    pub key: String,
    pub owner: String,
    /// Any JSON; whoever asks again gets it to the letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<RawValue>>,
}

/// Record that it failed; one of its attempts is used up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailBody {
    pub namespace: String,
    pub key: String,
    pub owner: String,
    pub error: String,
}

/// Keep the right to do it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewBody {
    pub namespace: String,
    pub key: String,
    pub owner: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RenewedView {
    pub lease_ends_at: String,
}

/// Forget one page: what has been kept long enough, or with `older_than_days` all that was begun before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_than_days: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Who asks, where the caller has no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What was forgotten; the same request goes on while there is `more`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForgottenView {
    pub executions: u64,
    pub more: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionView {
    pub namespace: String,
    pub key: String,
    /// `in_progress`, `done` or `failed`.
    #[schemars(extend("enum" = ["in_progress", "done", "failed"]))]
    pub state: String,
    pub attempt: u32,
    pub failed_attempts: u32,
    pub max_attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ends_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub created_at: String,
    pub updated_at: String,
    pub keep_until: String,
}

/// Executions, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionPage {
    pub executions: Vec<ExecutionView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One execution with its answer and everything that happened to it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionShow {
    pub execution: ExecutionView,
    /// SHA-256 of its input.
    pub input_hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<RawValue>>,
    pub history: Vec<MomentView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MomentView {
    pub at: String,
    pub attempt: u32,
    /// `begun`, `taken_over`, `done` or `failed`.
    #[schemars(extend("enum" = ["begun", "taken_over", "done", "failed"]))]
    pub event: String,
    /// Who; the last characters alone, for the whole of it is the right to end it.
    pub owner: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
