//! Workflows: what starts one, how far it is, what happened to it, and what a person did to it.

use crate::PollsView;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Starts a workflow.
///
/// ```
/// # use stepfast_wire as wire;
/// let body: wire::StartBody = serde_json::from_str(r#"{"workflow": "order", "input": {"id": 7}}"#)?;
/// assert_eq!(body.input.unwrap().get(), r#"{"id": 7}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StartBody {
    /// The name of its definition.
    pub workflow: String,
    /// The newest when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `{}` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// A workflow that now exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartedView {
    pub id: String,
    pub workflow: String,
    pub version: String,
    pub dispatch_group: String,
}

/// What a dry run says of a workflow that could be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WouldStartView {
    pub workflow: String,
    pub version: String,
    pub dry_run: bool,
}

/// One workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowView {
    pub id: String,
    pub workflow: String,
    pub version: String,
    /// `pending`, `running`, `paused`, `succeeded`, `failed`, `cancelled`, `compensating`, `compensated` or `compensation_failed`.
    #[schemars(extend("enum" = [
        "pending", "running", "paused", "succeeded", "failed", "cancelled", "compensating", "compensated",
        "compensation_failed"
    ]))]
    pub state: String,
    /// Why it is paused: `person`, `failure` or `trigger`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["person", "failure", "trigger", null]))]
    pub paused_by: Option<String>,
    /// Why it is where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// The step of another workflow that started it and waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_step_id: Option<String>,
    pub dispatch_group: String,
    pub created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
    /// Somebody should look if it is not over by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_at: Option<String>,
    /// Failed, and tried again by itself then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_retry_at: Option<String>,
    /// Failed, and nobody is asked any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_requested_at: Option<String>,
    /// Something that was to be undone was left as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_skips: bool,
    /// How often it was written; `If-Match` takes it.
    pub revision: u64,
}

/// Workflows, newest first; `next` is the `after` of the following page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowPage {
    pub workflows: Vec<WorkflowView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A workflow with its steps; its own fields stand beside the others.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorkflowShow {
    #[serde(flatten)]
    pub workflow: WorkflowView,
    pub input: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Box<RawValue>>,
    /// How much of its steps is over, from 0 to 100.
    pub percent: u8,
    /// What the definition says of the step that is being done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// What it waits for, and what it waited for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<crate::PauseView>,
    /// In the order of the definition.
    pub steps: Vec<WorkflowStepView>,
    /// What was decided about it, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resolutions: Vec<ResolutionView>,
    /// What was undone, or is to be, in its order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compensations: Vec<CompensationView>,
}

/// A step of the definition, as its last run stands.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowStepView {
    pub key: String,
    /// `action`, `fan_out`, `poll`, `wait`, `branch` or `workflow`.
    #[schemars(extend("enum" = ["action", "fan_out", "poll", "wait", "branch", "workflow"]))]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The state of the step, or `ahead` where nothing of it exists yet.
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The branch on which it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// How often this step was begun; 0 while it is ahead.
    pub run: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Left out where the answers of all steps are too much for one page; the step itself shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Box<RawValue>>,
    /// Of a fan-out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<ItemCounts>,
    /// Of a poll, once there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polls: Option<PollsView>,
    /// The workflow that it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
    /// What people read while it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// Why it is not moving, while it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Vec<String>>,
    /// The runs before the last.
    #[serde(default)]
    pub earlier: Vec<EarlierRun>,
}

/// How the items of a fan-out stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemCounts {
    pub total: u32,
    /// Not made yet.
    pub to_come: u32,
    pub live: u32,
    /// Completed or skipped.
    pub completed: u32,
    /// Failed or cancelled.
    pub failed: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierRun {
    pub run: u32,
    pub step_id: String,
    pub state: String,
}

/// Something that happened to a workflow, numbered within its dispatch group.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowEventView {
    pub number: u64,
    pub at: String,
    /// `workflow.started`, `step.skipped` and so on.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

/// Events, oldest first; `next` is the `after` of the following page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowEventPage {
    pub events: Vec<WorkflowEventView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An expression that decided something.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DecisionView {
    pub step_key: String,
    /// `when`, `branch` or `terminate_when`.
    #[schemars(extend("enum" = ["when", "branch", "terminate_when"]))]
    pub kind: String,
    pub expression: String,
    /// Branches that were chosen, or whether it holds.
    pub result: Box<RawValue>,
    /// What it looked at, shortened.
    pub inputs: Box<RawValue>,
    pub at: String,
}

/// Decisions, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DecisionPage {
    pub decisions: Vec<DecisionView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Items of a fan-out in their order; `next` is the `after` of the following page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ItemPage {
    pub items: Vec<crate::StepView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Why a workflow is paused, resumed or cancelled, and who does it. Both go into the audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkflowOperateBody {
    /// `by hand` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Say what would be done, and do nothing.
    pub dry_run: bool,
    /// With a key it is the key that acts, whatever stands here; else `loopback` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Resume without the triggers that it waits for.
    pub force: bool,
    /// What stands for what would have been sent, with `force`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<serde_json::Value>,
}

/// What a person decides about a workflow, above all one that failed.
///
/// ```
/// # use stepfast_wire as wire;
/// let body: wire::ResolveBody = serde_json::from_str(r#"{"decision": "retry_from_step", "step": "charge"}"#)?;
/// assert_eq!((body.decision.as_str(), body.step.as_deref()), ("retry_from_step", Some("charge")));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResolveBody {
    /// `retry`, `retry_from_step`, `compensate`, `cancel`, `mark_resolved`, `retry_compensation` or `skip_compensation`.
    #[schemars(extend("enum" = [
        "retry", "retry_from_step", "compensate", "cancel", "mark_resolved", "retry_compensation",
        "skip_compensation"
    ]))]
    pub decision: String,
    /// The step to retry from, or from which on is undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Of `retry_from_step`: `retry_only` (when left out) or `compensate_then_retry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["retry_only", "compensate_then_retry", null]))]
    pub mode: Option<String>,
    /// With `compensate_then_retry`, the step itself is undone too.
    pub include_step: bool,
    /// Retry from a step although the workflow succeeded.
    pub force: bool,
    /// Of `retry` and `retry_from_step`: which items of a fan-out are done again, `failed` or `all`, against what its `retry.scope` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["failed", "all", null]))]
    pub items: Option<String>,
    /// Of `compensate`: only these steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// Of `cancel`: `compensate` or `no_compensate`, against what the definition says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["compensate", "no_compensate", null]))]
    pub on_cancel: Option<String>,
    /// Of `skip_compensation`: all that is not undone yet.
    pub all: bool,
    /// `by hand` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Say what would be done, and do nothing.
    pub dry_run: bool,
    /// With a key it is the key that acts, whatever stands here; else `loopback` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A decision about a workflow, on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolutionView {
    pub decision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    pub by: String,
    pub why: String,
    pub at: String,
}

/// One line of the plan of what is undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompensationView {
    /// Which of the workflow's compensations it is part of, from 1.
    pub compensation: u32,
    pub step_key: String,
    pub action: String,
    /// `pending`, `running`, `succeeded`, `failed` or `skipped`.
    #[schemars(extend("enum" = ["pending", "running", "succeeded", "failed", "skipped"]))]
    pub state: String,
    /// The step that is undone, and the one that undoes it.
    pub undoes: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<String>,
    /// Of a fan-out: items that are undone, and those that were left.
    pub items_done: u32,
    pub items_skipped: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What was done to a workflow, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowOperatedView {
    pub id: String,
    pub from: String,
    pub to: String,
    pub revision: u64,
    pub dry_run: bool,
    /// What that means, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
}

/// An event as a listener of `/v1/events` receives it: CloudEvents 1.0 in JSON.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CloudEvent {
    pub specversion: String,
    /// The dispatch group and the number in it: `alpha/12`.
    pub id: String,
    /// `/v1/workflows/` and the workflow's id.
    pub source: String,
    /// `stepfast.workflow.failed` and so on.
    #[serde(rename = "type")]
    pub kind: String,
    /// The key of the step it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    pub time: String,
    pub datacontenttype: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

// Read twice from the same text: serde's own flattening cannot carry raw JSON.
impl<'de> Deserialize<'de> for WorkflowShow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WorkflowShow, D::Error> {
        #[derive(Deserialize)]
        struct Beside {
            input: Box<RawValue>,
            output: Option<Box<RawValue>>,
            percent: u8,
            status_message: Option<String>,
            #[serde(default)]
            pauses: Vec<crate::PauseView>,
            steps: Vec<WorkflowStepView>,
            #[serde(default)]
            resolutions: Vec<ResolutionView>,
            #[serde(default)]
            compensations: Vec<CompensationView>,
        }
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let workflow = serde_json::from_str(text.get()).map_err(serde::de::Error::custom)?;
        let Beside { input, output, percent, status_message, pauses, steps, resolutions, compensations } =
            serde_json::from_str(text.get()).map_err(serde::de::Error::custom)?;
        Ok(WorkflowShow {
            workflow,
            input,
            output,
            percent,
            status_message,
            pauses,
            steps,
            resolutions,
            compensations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = r#"{"id":"1","workflow":"order","version":"1.0.0","state":"running","labels":{"team":"x"},
        "dispatch_group":"alpha","created_at":"2027-01-15T08:00:00.000000Z","revision":3,
        "input":{"b":1.10,"a":18446744073709551616},"percent":50,"steps":[{"key":"pay","kind":"action","action":"pay",
        "state":"completed","run":1,"attempt":1,"step_id":"2","output":{"z":1.10,"a":1},"earlier":[]},
        {"key":"ship","kind":"wait","state":"ahead","run":0,"earlier":[]}]}"#;

    #[test]
    fn a_shown_workflow_is_flat_and_keeps_payloads_to_the_letter() {
        let shown: WorkflowShow = serde_json::from_str(SHOWN).unwrap();
        assert_eq!((shown.workflow.revision, shown.steps.len()), (3, 2));
        let compact: String = SHOWN.lines().map(str::trim_start).collect();
        assert_eq!(serde_json::to_string(&shown).unwrap(), compact);
    }

    #[test]
    fn an_unknown_field_of_a_body_is_named() {
        let problem = serde_json::from_str::<StartBody>(r#"{"workflow": "a", "inputs": {}}"#).unwrap_err();
        assert!(problem.to_string().starts_with("unknown field `inputs`, expected one of"), "{problem}");
    }
}
