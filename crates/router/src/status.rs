//! What a router does right now, as plain data for pages, commands and metrics.

use crate::config::PoolStatus;
use crate::warnings::Warning;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RouterStatus {
    pub transport: String,
    pub uptime_ms: u64,
    pub pools: Vec<PoolState>,
    pub breakers: Vec<BreakerStatus>,
    /// Messages held, of which the eldest are listed.
    pub held: usize,
    pub in_flight: Vec<InFlight>,
    pub counters: Counters,
    /// The latest first.
    pub warnings: Vec<Warning>,
    pub consumer: ConsumerStatus,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolState {
    pub code: String,
    pub status: PoolStatus,
    pub concurrency: usize,
    pub rate_per_minute: Option<u32>,
    pub capacity: usize,
    pub in_flight: usize,
    pub waiting: usize,
    /// Message groups, and messages without one, whose turn comes next.
    pub lines_ready: usize,
    /// No longer configured; it takes no new messages and ends when it is empty.
    pub leaving: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BreakerStatus {
    pub target: String,
    pub state: BreakerState,
    /// Calls looked back at, and how many of them failed.
    pub calls: usize,
    pub failures: usize,
    /// Until it tries again, if it is open.
    pub tries_again_in_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BreakerState {
    Closed,
    Open,
    HalfOpen,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InFlight {
    pub id: String,
    pub attempt: Option<u32>,
    pub pool: String,
    pub message_group: Option<String>,
    pub target: String,
    pub stage: Stage,
    /// Since it was received.
    pub elapsed_ms: u64,
    /// The broker may have given it to someone else meanwhile.
    pub receipt_lost: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Stage {
    Waiting,
    Calling,
    /// Its end is being told to the broker.
    Leaving,
}

/// Messages since the start, by how their delivery ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    pub processed: u64,
    pub failed: u64,
    pub deferred: u64,
    pub rate_limited: u64,
    pub circuit_open: u64,
    pub dropped: u64,
    /// Deliveries of messages that were held already.
    pub duplicates: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConsumerStatus {
    /// None until the first poll succeeded.
    pub last_poll_ms_ago: Option<u64>,
    pub polls: u64,
    pub failures_in_a_row: u32,
    /// Polls that stalled and were begun anew.
    pub restarts: u64,
    pub last_error: Option<String>,
}
