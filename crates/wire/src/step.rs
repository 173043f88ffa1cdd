//! A step as the API shows it, alone, in a page, and with everything that is known about it.

use crate::PollsView;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;

/// One step.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StepView {
    pub id: String,
    pub step_key: Option<String>,
    pub label: Option<String>,
    pub action: String,
    pub queue: String,
    /// `high` or `normal`.
    #[schemars(extend("enum" = ["high", "normal"]))]
    pub priority: String,
    /// `default` or `resolve-exception`.
    #[schemars(extend("enum" = ["default", "resolve-exception"]))]
    pub kind: String,
    pub dispatch_group: String,
    #[schemars(extend("enum" = [
        "not_runnable", "pending", "dispatched", "running", "polling", "completed", "skipped", "cancelled",
        "failed", "stopped", "timed_out", "superseded"
    ]))]
    pub state: String,
    /// Why it is where it is, on every step that did not simply complete.
    pub reason: Option<String>,
    pub block_id: Option<String>,
    pub index: u32,
    pub child_block_id: Option<String>,
    pub parent_step_id: Option<String>,
    /// One more for every claim.
    pub attempt: u32,
    pub failed_attempts: u32,
    pub lost_attempts: u32,
    /// Executions including the first.
    pub max_attempts: u32,
    /// Results that came after the attempt had lost the step.
    pub late_reports: u32,
    pub throttled: bool,
    pub was_throttled: bool,
    pub dispatch_after: Option<String>,
    pub arguments: Box<RawValue>,
    pub response: Option<Box<RawValue>>,
    pub error_message: Option<String>,
    pub error_stack_trace: Option<String>,
    pub note: Option<String>,
    pub relatable_type: Option<String>,
    pub relatable_id: Option<String>,
    /// The pool whose limits it shares.
    pub pool: Option<String>,
    pub message_group: Option<String>,
    /// Lower goes first in its message group.
    pub sequence: Option<i32>,
    /// `immediate`, `next_on_error` or `block_on_error`.
    #[schemars(extend("enum" = ["immediate", "next_on_error", "block_on_error"]))]
    pub mode: String,
    pub expires_at: Option<String>,
    /// Since when its failure holds nobody back any more, by whom and why.
    pub block_cleared_at: Option<String>,
    pub block_cleared_by: Option<String>,
    pub block_cleared_why: Option<String>,
    /// The state in the words of a dispatch job: PENDING, QUEUED, PROCESSING, COMPLETED, ERROR, CANCELLED or EXPIRED.
    #[schemars(extend("enum" = [
        "PENDING", "QUEUED", "PROCESSING", "COMPLETED", "ERROR", "CANCELLED", "EXPIRED"
    ]))]
    pub status: String,
    pub host: Option<String>,
    pub session: Option<String>,
    pub tick_id: Option<i64>,
    pub superseded_by: Option<String>,
    pub created_at: String,
    pub dispatched_at: Option<String>,
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
    /// From start to end, for a step that ended.
    pub duration_ms: Option<f64>,
    /// How often the row was written.
    pub version: u64,
    /// The workflow it is a step of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<String>,
    /// The how-manieth time its workflow does this step, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u32>,
    /// Which item of a fan-out it is, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// The branch of its workflow on which it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_key: Option<String>,
    /// Why its workflow does this step once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_source: Option<String>,
}

/// Steps, newest first; `next` is the `after` of the following page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StepPage {
    pub steps: Vec<StepView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A step that now exists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedView {
    pub id: String,
    pub state: String,
    pub dispatch_group: String,
}

/// The steps named in a create call, in its order; nested children are not repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedPage {
    pub steps: Vec<CreatedView>,
}

/// What a dry run says of steps that could be made: how many, those within others too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WouldCreateView {
    pub steps: u64,
    pub dry_run: bool,
}

/// An attempt that did not simply succeed, or a delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptView {
    pub attempt: u32,
    pub at: String,
    pub outcome: String,
    pub message: Option<String>,
    pub host: Option<String>,
    pub session: Option<String>,
    pub started_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryView>,
}

/// What came of handing a step to its target; what went wrong is the attempt's `message`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryView {
    /// `SUCCESS`, `FAILURE` or `DEFERRED`.
    #[schemars(extend("enum" = ["SUCCESS", "FAILURE", "DEFERRED"]))]
    pub status: String,
    pub http_code: Option<u16>,
    /// `CONNECTION`, `TIMEOUT`, `HTTP_ERROR`, `VALIDATION` or `UNKNOWN`.
    #[schemars(extend("enum" = ["CONNECTION", "TIMEOUT", "HTTP_ERROR", "VALIDATION", "UNKNOWN", null]))]
    pub error_type: Option<String>,
    /// How the answer begins: 1,000 characters with the step, 64 KiB in the list of its attempts.
    pub response_body: Option<String>,
    pub duration_ms: u64,
}

impl fmt::Display for DeliveryView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.status)?;
        if let Some(code) = self.http_code {
            write!(f, " {code}")?;
        }
        if let Some(error) = &self.error_type {
            write!(f, " {error}")?;
        }
        write!(f, " in {} ms", self.duration_ms)
    }
}

/// Attempts of one step, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AttemptPage {
    pub attempts: Vec<AttemptView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One move of a step, kept when the history level is `full`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventView {
    pub at: String,
    pub from: Option<String>,
    pub event: Option<String>,
    pub to: String,
    pub attempt: u32,
}

/// The child block of a step: how many children are in which state, zeros left out. `live` is every child that can
/// still move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChildrenView {
    pub block_id: String,
    /// When the children make the parent succeed.
    pub success: String,
    /// The index whose steps may run; 0 while the parent has not returned.
    pub current_index: u32,
    pub last_index: u32,
    pub steps: BTreeMap<String, u32>,
    pub resolvers: BTreeMap<String, u32>,
}

/// A step with all that is known about it; the step's own fields stand beside the others.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StepShow {
    #[serde(flatten)]
    pub step: StepView,
    /// In words, why a live step is not moving; empty for one that ended.
    pub why: Vec<String>,
    pub attempts: Vec<AttemptView>,
    pub history: Vec<EventView>,
    /// What its last runs said.
    pub log: Vec<LogView>,
    pub children: Option<ChildrenView>,
    /// Of a step that is polled, once it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polls: Option<PollsView>,
    /// How far its job says it is; known to the node that its worker speaks to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressView>,
}

/// How far a job says it is, while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressView {
    pub done: u64,
    /// Zero where nobody knows.
    pub of: u64,
    pub word: Option<String>,
}

impl fmt::Display for ProgressView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.done)?;
        if self.of > 0 {
            write!(f, " of {}", self.of)?;
        }
        if let Some(word) = &self.word {
            write!(f, " {word}")?;
        }
        if self.of > 0 {
            write!(f, " ({} %)", u128::from(self.done) * 100 / u128::from(self.of))?;
        }
        Ok(())
    }
}

/// Something a job said.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LogView {
    pub attempt: u32,
    pub at: String,
    pub text: String,
}

// Read twice from the same text: serde's own flattening cannot carry raw JSON.
impl<'de> Deserialize<'de> for StepShow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StepShow, D::Error> {
        #[derive(Deserialize)]
        struct Beside {
            why: Vec<String>,
            attempts: Vec<AttemptView>,
            history: Vec<EventView>,
            log: Vec<LogView>,
            children: Option<ChildrenView>,
            progress: Option<ProgressView>,
            polls: Option<PollsView>,
        }
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let step = serde_json::from_str(text.get()).map_err(serde::de::Error::custom)?;
        let Beside { why, attempts, history, log, children, progress, polls } =
            serde_json::from_str(text.get()).map_err(serde::de::Error::custom)?;
        Ok(StepShow { step, why, attempts, history, log, children, polls, progress })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = r#"{"id":"1","step_key":null,"label":null,"action":"noop","queue":"default",
        "priority":"normal","kind":"default","dispatch_group":"alpha","state":"pending","reason":null,"block_id":null,
        "index":1,"child_block_id":null,"parent_step_id":null,"attempt":0,"failed_attempts":0,"lost_attempts":0,
        "max_attempts":3,"late_reports":0,"throttled":false,"was_throttled":false,"dispatch_after":null,
        "arguments":{"b":1.10,"a":18446744073709551616},"response":null,"error_message":null,"error_stack_trace":null,
        "note":null,"relatable_type":null,"relatable_id":null,"pool":null,"message_group":null,"sequence":null,"mode":"immediate","expires_at":null,"block_cleared_at":null,"block_cleared_by":null,"block_cleared_why":null,"status":"PENDING","host":null,"session":null,"tick_id":null,
        "superseded_by":null,"created_at":"2027-01-15T08:00:00.000000Z","dispatched_at":null,"started_at":null,
        "completed_at":null,"duration_ms":null,"version":0,"why":["it is due later"],"attempts":[],"history":[],
        "log":[],"children":null}"#;

    #[test]
    fn progress_reads_as_far_as_it_is_known() {
        let told =
            |done, of, word: Option<&str>| ProgressView { done, of, word: word.map(Into::into) }.to_string();
        assert_eq!(told(3, 8, Some("files")), "3 of 8 files (37 %)");
        assert_eq!((told(3, 0, None), told(3, 0, Some("rows"))), ("3".into(), "3 rows".into()));
        assert_eq!(told(u64::MAX, u64::MAX, None), format!("{0} of {0} (100 %)", u64::MAX));
    }

    #[test]
    fn a_shown_step_is_flat_and_keeps_its_arguments_to_the_letter() {
        let shown: StepShow = serde_json::from_str(SHOWN).unwrap();
        assert_eq!(shown.step.arguments.get(), r#"{"b":1.10,"a":18446744073709551616}"#);
        let compact: String = SHOWN.lines().map(str::trim_start).collect();
        assert_eq!(serde_json::to_string(&shown).unwrap(), compact);
    }
}
