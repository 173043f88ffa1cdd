//! What `/step-dispatcher/api` answers: every figure of the page, from tallies.

use crate::BreakerView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Steps per state. `child_…` counts leaf steps alone, those that really occupy a worker: `running` without
/// `child_running` are parents that wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    pub pending: i64,
    pub child_pending: i64,
    pub dispatched: i64,
    pub child_dispatched: i64,
    pub running: i64,
    pub child_running: i64,
    pub polling: i64,
    pub child_polling: i64,
    /// Pending steps that wait because of a rate limit.
    pub throttled: i64,
    pub completed: i64,
    pub child_completed: i64,
    pub failed: i64,
    pub child_failed: i64,
    pub stopped: i64,
    pub child_stopped: i64,
    pub timed_out: i64,
    pub child_timed_out: i64,
    pub skipped: i64,
    pub child_skipped: i64,
    pub cancelled: i64,
    pub child_cancelled: i64,
    pub superseded: i64,
    pub child_superseded: i64,
    pub not_runnable: i64,
    pub child_not_runnable: i64,
}

/// One action with steps in flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActionFigures {
    pub action: String,
    pub running: i64,
    pub child_running: i64,
    pub throttled: i64,
    pub dispatched: i64,
}

/// One host that works or worked, by the name its workers give.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFigures {
    pub hostname: String,
    /// A worker session of this host has a live lease.
    pub online: bool,
    pub sessions: usize,
    pub capacity: usize,
    #[serde(flatten)]
    pub figures: Figures,
    pub actions: Vec<ActionFigures>,
}

/// One dispatch group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupFigures {
    pub dispatch_group: String,
    /// Its own breaker and the one for everything are on.
    pub can_dispatch_steps: bool,
    /// A node decides for it.
    pub owned: bool,
    pub last_tick_completed_at: Option<String>,
    #[serde(flatten)]
    pub figures: Figures,
}

/// What the page says in sentences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DashboardWords {
    /// Whether a restart is safe, and if not why.
    pub restart: String,
    /// Why nothing is dispatched, when the breaker is off.
    pub breaker: Option<String>,
    /// How many alerts are open, when any is.
    pub alerts: Option<String>,
    /// How long the oldest step that could start has waited.
    pub oldest: Option<String>,
}

/// Everything the page shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DashboardView {
    pub version: String,
    pub host: String,
    pub now: String,
    pub can_dispatch_steps: bool,
    pub safe_to_restart: bool,
    /// Steps in a worker's hands.
    pub in_flight: i64,
    pub breaker: BreakerView,
    /// When the oldest root that could start was created.
    pub oldest_pending_at: Option<String>,
    pub open_alerts: usize,
    pub words: DashboardWords,
    pub global: Figures,
    /// Actions with steps in flight, by name.
    pub actions: Vec<ActionFigures>,
    /// Hosts with a live worker first.
    pub hostnames: Vec<HostFigures>,
    /// Rows that were too many to show.
    pub left_out: usize,
    pub dispatch_groups: Vec<GroupFigures>,
}

/// The page's switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToggleBody {
    pub enabled: bool,
    /// For the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToggledView {
    pub can_dispatch_steps: bool,
}
