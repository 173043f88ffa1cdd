//! Rules about what is stuck, and what a look for it came to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// An action of a worker that a rule calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StuckCallBody {
    pub action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// How often an action that reports is asked, as `15m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
}

/// A rule. What is left out stays as it is in the rule of this name, or has its usual value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StuckRuleBody {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detect: Option<StuckCallBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub states: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub flow_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relatable_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// As `30m` or `2h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_than: Option<String>,
    /// `created`, `state` or `progress`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["created", "state", "progress", null]))]
    pub clock: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["low", "medium", "high", "critical", null]))]
    pub severity: Option<String>,
    /// `retry`, `cancel`, `escalate` or `notify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["retry", "cancel", "escalate", "notify", null]))]
    pub remedy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy_by: Option<StuckCallBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// One sentence for whoever the work is done for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remind_every: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A rule that holds, and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StuckRuleView {
    #[serde(flatten)]
    pub rule: StuckRuleBody,
    /// `default`, `configuration` or `api`.
    #[schemars(extend("enum" = ["default", "configuration", "api"]))]
    pub source: String,
    pub changed_at: Option<String>,
    pub changed_by: Option<String>,
    /// What was wrong with the last answer of its action.
    pub fault: Option<String>,
}

/// Every rule, by name, and whether remedies are applied at all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StuckRulePage {
    pub auto: bool,
    pub rules: Vec<StuckRuleView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The switch for all remedies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StuckAutoBody {
    pub auto: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What a look is to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DetectBody {
    /// Apply the remedies of rules that say so.
    pub auto_resolve: bool,
    /// Only tell what would be done; nothing at all is written.
    pub dry_run: bool,
    /// Who asks, where the caller has no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A thing that is stuck, and what was done about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DetectedView {
    pub alert: Option<u64>,
    pub rule: String,
    pub entity: String,
    pub entity_id: String,
    pub reason: String,
    pub severity: String,
    pub user: Option<String>,
    pub since: String,
    pub message: String,
    pub done: Vec<String>,
}

/// An alert whose thing has left its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftView {
    pub entity: String,
    pub entity_id: String,
    pub how: String,
}

/// What a look came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DetectionView {
    pub dry_run: bool,
    pub found: Vec<DetectedView>,
    pub by_entity: BTreeMap<String, usize>,
    pub total: usize,
    pub opened: usize,
    pub closed: Vec<LeftView>,
    /// Remedies that were applied; whether they helped is seen by a later look.
    pub remedies: usize,
    pub escalated: usize,
    pub failed: usize,
    /// Rules whose action was asked; its answer is heard by a later look.
    pub asked: Vec<String>,
    pub faults: Vec<String>,
    pub database_ms: f64,
}
