//! What a worker in another process says and hears: claim, heartbeat, report, leave; and what came before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Ask for work. The first call leaves `session` out and is given one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClaimBody {
    pub session: Option<String>,
    /// The name of the machine, for people.
    pub host: Option<String>,
    /// Empty is every queue the server knows.
    pub queues: Vec<String>,
    pub actions: Vec<String>,
    /// How many steps it runs at once.
    pub capacity: Option<usize>,
    /// The `number` of the last answer that arrived; what was lost on the way comes again.
    pub received: u64,
    /// How long to wait for work.
    pub wait_ms: Option<u64>,
    /// What it still works on. With it, the call is a heartbeat too.
    pub held: Option<Vec<Held>>,
}

/// One run of one step, in the hands of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Held {
    pub step: String,
    pub attempt: u32,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClaimedPage {
    pub session: String,
    pub number: u64,
    /// A session that is silent for longer loses what it holds.
    pub lease_ms: u64,
    pub claims: Vec<ClaimView>,
    /// Of what was named as held: what is not this worker's any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Held>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ClaimView {
    pub step: String,
    pub attempt: u32,
    pub action: String,
    pub queue: String,
    pub arguments: Box<RawValue>,
    pub failed_attempts: u32,
    pub max_attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The work is done: `verify N` or `confirm`, with what it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<LookView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_group: Option<String>,
    /// The workflow that it is done for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<ForWorkflowView>,
    /// It is asked again and again, and this is one of the times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<PollClaimView>,
    /// W3C trace context of this attempt: what is done for it has this for its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PollClaimView {
    /// The how-manieth poll it is, from 1.
    pub number: u32,
    /// What the one before it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Box<RawValue>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForWorkflowView {
    pub id: String,
    /// The key of its definition.
    pub workflow: String,
    pub version: String,
    pub step_key: String,
    pub run: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LookView {
    pub at: String,
    pub response: Option<Box<RawValue>>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeartbeatBody {
    pub session: String,
    #[serde(default)]
    pub received: u64,
    pub held: Vec<Held>,
    /// How far what is held has come, where that is known; the last word counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<ProgressItem>,
}

/// How far one run says it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressItem {
    pub step: String,
    pub attempt: u32,
    pub done: u64,
    /// Zero, or left out, where nobody knows.
    #[serde(default)]
    pub of: u64,
    /// What is counted, or done just now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatView {
    pub lease_ms: u64,
    pub lost: Vec<Held>,
}

/// What came of runs. Each item is answered on its own.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportBody {
    pub session: String,
    #[schemars(with = "Vec<ReportItem>")]
    pub reports: Vec<Box<RawValue>>,
}

/// One item of a report.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportItem {
    pub step: String,
    pub attempt: u32,
    /// `complete`, `retry`, `throttle`, `skip`, `stop`, `end`, `fail`, `resolved` or `look_again`; of a poll also `continue` or
    /// `abort`.
    #[schemars(extend("enum" = [
        "complete", "retry", "throttle", "skip", "stop", "end", "fail", "resolved", "look_again",
        "continue", "abort"
    ]))]
    pub outcome: String,
    /// With `continue`: what the next poll is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Box<RawValue>>,
    /// With `complete`: steps of which this one is the parent, as for a create.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<crate::NewStepBody>")]
    pub children: Vec<Box<RawValue>>,
    /// When the children count as a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
    /// With `retry`, `fail` and `look_again`: what went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// With `fail`: `false` tells nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<bool>,
    /// With `skip`, `stop`, `end`, `resolved` and `abort`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// With `look_again`: `verify N` or `confirm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Lines to keep with the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// What came of handing the step to its target, kept also with `complete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryItem>,
}

/// One delivery, for the record of attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryItem {
    /// `SUCCESS`, `FAILURE` or `DEFERRED`.
    #[schemars(extend("enum" = ["SUCCESS", "FAILURE", "DEFERRED"]))]
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_code: Option<u16>,
    /// `CONNECTION`, `TIMEOUT`, `HTTP_ERROR`, `VALIDATION` or `UNKNOWN`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["CONNECTION", "TIMEOUT", "HTTP_ERROR", "VALIDATION", "UNKNOWN", null]))]
    pub error_type: Option<String>,
    /// How the answer begins; 64 KiB are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_body: Option<String>,
    /// Microseconds UTC; left out, it began `duration_ms` before it was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    pub duration_ms: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReportedView {
    pub answers: Vec<ReportAnswerView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportAnswerView {
    /// `applied`; `late`: the run had lost its step, which is on record and changes nothing; `refused`: see `detail`.
    pub answer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Ask what the steps before a held one answered.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviousBody {
    pub session: String,
    pub step: String,
    pub attempt: u32,
}

/// The answers of the steps that completed at the index before, oldest first; `null` for one that gave none.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PreviousView {
    pub answers: Vec<Box<RawValue>>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaveBody {
    pub session: String,
    /// What is still held goes to others at no cost; without it the session only takes no more work.
    #[serde(default)]
    pub give_back: bool,
}
