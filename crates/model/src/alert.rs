//! An alert: something stands still that should move; the rule that found it; and what was done about it.

use crate::state::words;
use crate::{Severity, StepId, Timestamp, UnknownWord};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

words! {
    /// What of ours a rule watches over.
    Watched, "entity" {
        Step = "step",
        Workflow = "workflow",
        /// Work that runs elsewhere and is tracked here.
        Flow = "flow",
        MessageGroup = "message_group",
        Compensation = "compensation",
        Pause = "pause",
        DispatchGroup = "dispatch_group",
        Breaker = "breaker",
    }
}

words! {
    /// From when the age of a thing is counted.
    StuckClock, "clock" {
        /// Since it was made.
        Created = "created",
        /// Since it is in its state, and could go on.
        State = "state",
        /// Since something last happened to it.
        Progress = "progress",
    }
}

words! {
    /// What may be done about a thing that is stuck.
    Remedy, "remedy" {
        /// It is done again.
        Retry = "retry",
        /// It is called off. Nothing is paid back by that: what undoes a thing is its declared compensation.
        Cancel = "cancel",
        /// A person decides: it stands in the review queue.
        Escalate = "escalate",
        /// It is told, and nothing is done.
        Notify = "notify",
    }
}

words! {
    /// What happened to an alert.
    AlertMoment, "moment of an alert" {
        Opened = "opened",
        Severity = "severity",
        Remedy = "remedy",
        RemedyFailed = "remedy_failed",
        Escalated = "escalated",
        AdminNotified = "admin_notified",
        UserNotified = "user_notified",
        Acknowledged = "acknowledged",
        Assigned = "assigned",
        Note = "note",
        Resolved = "resolved",
        Reopened = "reopened",
        Closed = "closed",
    }
}

/// Who closes an alert when nobody does: it was seen that the thing has left its state.
pub const OBSERVED: &str = "observed";

/// An action of a worker that a rule calls, and what it is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StuckCall {
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
}

/// A rule: which things are stuck when, how grave that is, and what is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StuckRule {
    pub name: String,
    pub enabled: bool,
    /// What of ours it looks at; none where an action reports things of the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<Watched>,
    /// The action that reports things of the user's own tables, and how often it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detect: Option<StuckCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detect_every: Option<Duration>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// The type of a tracked flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relatable_type: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    pub older_than: Duration,
    pub clock: StuckClock,
    pub severity: Severity,
    pub remedy: Remedy,
    /// Whether the remedy is applied without a person; if nothing is said, a retry is and a cancel is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<bool>,
    /// Who carries the remedy out for things that are not ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy_by: Option<StuckCall>,
    /// Under which word it is on record; the name of the rule if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What whoever the work is done for is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    pub remind_every: Duration,
    /// Things that one look tells of.
    pub max: u32,
    /// Remedies that are tried before a person is asked.
    pub attempts: u32,
}

impl StuckRule {
    /// Whether the remedy needs no person.
    pub fn is_auto(&self) -> bool {
        match self.remedy {
            Remedy::Retry => self.auto.unwrap_or(true),
            Remedy::Cancel => self.auto.unwrap_or(false),
            Remedy::Escalate | Remedy::Notify => false,
        }
    }
    pub fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or(&self.name)
    }
    /// Who does what it does, for the audit.
    pub fn operator(&self) -> String {
        format!("stuck rule {}", self.name)
    }
}

/// A thing that a rule finds stuck.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub rule: String,
    pub entity: String,
    pub entity_id: String,
    pub reason: String,
    /// The state it is in, where it is one of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    pub since: Timestamp,
    pub message: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    /// What a remedy is applied to, if that is another row by now: the step that took its place, the workflow of a pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acts_on: Option<String>,
}

impl Finding {
    /// The same thing for the same reason has one open alert.
    pub fn key(&self) -> (String, String, String) {
        (self.entity.clone(), self.entity_id.clone(), self.reason.clone())
    }
}

/// One thing of the user's own tables, as an action reports it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportedStuck {
    pub entity_type: String,
    pub entity_id: Value,
    #[serde(default)]
    pub user: Option<Value>,
    /// RFC 3339.
    #[serde(default)]
    pub since: Option<String>,
    #[serde(default)]
    pub message: Option<String>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub data: Value,
}

/// An alert as it is on record.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    pub id: u64,
    pub entity: String,
    pub entity_id: String,
    pub reason: String,
    pub severity: Severity,
    pub message: String,
    pub opened_at: Timestamp,
    /// When it was last seen.
    pub updated_at: Timestamp,
    pub closed_at: Option<Timestamp>,
    /// `observed`, or who.
    pub closed_by: Option<String>,
    /// The rule that found it; none of what a node tells of itself.
    pub rule: Option<String>,
    pub user: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub data: Value,
    pub since: Timestamp,
    /// How often it was seen.
    pub seen: u64,
    pub remedy: Remedy,
    pub auto_resolvable: bool,
    /// It left its state after a remedy.
    pub auto_resolved: bool,
    /// Remedies that were tried, and the last of them.
    pub attempts: u32,
    pub action_taken: Option<String>,
    pub last_remedy_at: Option<Timestamp>,
    pub status: Option<String>,
    pub admin_notified_at: Option<Timestamp>,
    pub user_notified_at: Option<Timestamp>,
    pub escalated_at: Option<Timestamp>,
    pub acknowledged_at: Option<Timestamp>,
    pub acknowledged_by: Option<String>,
    pub assigned_to: Option<String>,
    pub reviewed_at: Option<Timestamp>,
    pub reviewed_by: Option<String>,
    pub resolution_notes: Option<String>,
    /// When a person opened it again; from then on only a person closes it.
    pub reopened_at: Option<Timestamp>,
    /// How often the row was written by somebody who decides; each such write names the one it saw.
    pub version: u64,
}

impl Alert {
    pub fn is_open(&self) -> bool {
        self.closed_at.is_none()
    }
    /// It closes itself when its thing was seen to have left; what a person opened again only a person closes.
    pub fn closes_itself(&self) -> bool {
        self.reopened_at.is_none()
    }
    /// A person is asked for.
    pub fn is_in_review(&self) -> bool {
        self.is_open() && self.escalated_at.is_some()
    }
    pub fn key(&self) -> (String, String, String) {
        (self.entity.clone(), self.entity_id.clone(), self.reason.clone())
    }
    /// How long it has been stuck, or was.
    pub fn duration(&self, now: Timestamp) -> Duration {
        self.closed_at.unwrap_or(now).since(self.since)
    }
}

/// Something that happened to an alert.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertEvent {
    pub entity: String,
    pub entity_id: String,
    pub reason: String,
    pub at: Timestamp,
    pub moment: AlertMoment,
    pub who: String,
    pub text: String,
    /// The step by which a remedy is carried out, where it is one.
    pub step: Option<StepId>,
}

/// How careful remedies are, for all rules together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckPolicy {
    /// Whether any remedy is applied without a person.
    pub auto: bool,
    /// Remedies in an hour, of all rules.
    pub per_hour: u32,
    pub per_entity_per_day: u32,
    /// Between two attempts on the same alert.
    pub cooling_off: Duration,
}

impl Default for StuckPolicy {
    fn default() -> Self {
        StuckPolicy {
            auto: true,
            per_hour: 10,
            per_entity_per_day: 3,
            cooling_off: Duration::from_secs(3_600),
        }
    }
}
