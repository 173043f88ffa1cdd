//! Tick records: one second of a dispatch group's turns that did something.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TickView {
    pub id: i64,
    pub dispatch_group: String,
    pub started_at: String,
    pub completed_at: String,
    /// Time spent deciding, not the span between the two instants.
    pub duration_ms: f64,
    pub turns: u64,
    /// The last phase that acted.
    pub progress: usize,
    pub steps_dispatched: u64,
    /// Turns that reached the limit per tick, and those of them with ready steps left over.
    pub capped: u64,
    pub left_over: u64,
    pub phases: Vec<PhaseView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseView {
    pub phase: String,
    /// Rows that really moved.
    pub rows: u64,
    pub duration_ms: f64,
}

/// Ticks, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TickPage {
    pub ticks: Vec<TickView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
