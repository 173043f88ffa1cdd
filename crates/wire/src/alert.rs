//! Alerts, what people do to them, the figures about them, and the audit of what people did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlertView {
    pub id: u64,
    /// `step`, `workflow`, `message_group`, …, or what an action of yours reports.
    pub entity: String,
    pub entity_id: String,
    pub reason: String,
    /// `low`, `medium`, `high` or `critical`.
    #[schemars(extend("enum" = ["low", "medium", "high", "critical"]))]
    pub severity: String,
    pub message: String,
    /// `open` or `closed`.
    #[schemars(extend("enum" = ["open", "closed"]))]
    pub state: String,
    /// It waits for a person.
    pub in_review: bool,
    pub opened_at: String,
    pub updated_at: String,
    pub closed_at: Option<String>,
    /// `observed`, or who.
    pub closed_by: Option<String>,
    /// The rule that found it; none of what a node tells of itself.
    pub rule: Option<String>,
    pub user: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub data: Value,
    pub since: String,
    pub duration_seconds: u64,
    pub seen: u64,
    pub remedy: String,
    pub auto_resolvable: bool,
    pub auto_resolved: bool,
    pub attempts: u32,
    pub action_taken: Option<String>,
    pub last_remedy_at: Option<String>,
    pub status: Option<String>,
    pub admin_notified_at: Option<String>,
    pub user_notified_at: Option<String>,
    pub escalated_at: Option<String>,
    pub acknowledged_at: Option<String>,
    pub acknowledged_by: Option<String>,
    pub assigned_to: Option<String>,
    pub reviewed_at: Option<String>,
    pub reviewed_by: Option<String>,
    pub resolution_notes: Option<String>,
    /// How often it was written; `If-Match` takes it.
    #[serde(default)]
    pub revision: u64,
}

/// The newest first; `next` is the `after` of the next page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlertPage {
    pub alerts: Vec<AlertView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// Something that happened to an alert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlertMomentView {
    pub at: String,
    pub moment: String,
    pub who: String,
    pub text: String,
}

/// An alert, and what happened to the alerts of this thing, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlertShow {
    #[serde(flatten)]
    pub alert: AlertView,
    pub history: Vec<AlertMomentView>,
}

/// What somebody does to an alert.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AlertReviewBody {
    /// The note, what was done, or why it is reopened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// To whom it is assigned; nobody when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What is open, and what came of what was closed in the last days.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlertFiguresView {
    pub open: usize,
    pub in_review: usize,
    pub acknowledged: usize,
    pub days: u64,
    pub closed: usize,
    pub auto_resolved: usize,
    pub auto_resolved_percent: Option<f64>,
    pub median_seconds_to_resolve: Option<u64>,
    pub by_severity: BTreeMap<String, usize>,
    pub by_entity: BTreeMap<String, usize>,
}

/// One thing that a person did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditView {
    pub at: String,
    pub who: String,
    pub verb: String,
    pub target: String,
    pub why: Option<String>,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// The audit, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPage {
    pub audit: Vec<AuditView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
