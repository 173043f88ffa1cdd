//! Dispatch groups: the unit of deciding in parallel, and the breaker that gates each.

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

pub const DEFAULT_GROUPS: [&str; 10] =
    ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"];

/// The name of a dispatch group.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DispatchGroup(pub Arc<str>);

impl DispatchGroup {
    pub fn new(name: &str) -> Self {
        DispatchGroup(name.into())
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DispatchGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for DispatchGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether new work may be dispatched, who said so and until when.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Breaker {
    pub off: bool,
    pub why: Option<String>,
    pub by: Option<String>,
    pub since: Option<Timestamp>,
    /// Off only until then; a forgotten switch turns itself on again.
    pub until: Option<Timestamp>,
}

impl Breaker {
    pub fn is_off(&self, now: Timestamp) -> bool {
        self.off && self.until.is_none_or(|until| now < until)
    }
}

/// One dispatch group as people see it.
#[derive(Clone, PartialEq, Debug)]
pub struct GroupStatus {
    pub dispatch_group: DispatchGroup,
    pub owner: Option<crate::NodeId>,
    pub epoch: u64,
    pub lease_ends_at: Option<Timestamp>,
    pub owned_since: Option<Timestamp>,
    pub breaker: Breaker,
    pub last_selected_at: Option<Timestamp>,
    pub current_tick: Option<i64>,
    pub last_tick_completed_at: Option<Timestamp>,
}
