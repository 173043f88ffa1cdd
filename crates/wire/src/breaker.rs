//! The circuit breaker, and whether it is safe to restart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Switch dispatch off or on, everywhere or for one dispatch group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BreakerBody {
    /// `false` dispatches again.
    pub off: bool,
    /// Needed to switch it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// With a key it is the key that acts, whatever stands here; else `loopback` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Off only for so long; a forgotten switch turns itself on again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// Everywhere when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatch_group: Option<String>,
}

/// One breaker as it is now; an expired one is on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BreakerView {
    /// None is the breaker for everything.
    pub dispatch_group: Option<String>,
    pub off: bool,
    pub can_dispatch_steps: bool,
    pub why: Option<String>,
    pub by: Option<String>,
    pub since: Option<String>,
    pub until: Option<String>,
}

/// The breaker for everything, and each dispatch group's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BreakersView {
    pub can_dispatch_steps: bool,
    pub everywhere: BreakerView,
    pub groups: Vec<BreakerView>,
}

/// Whether a restart now leaves nothing behind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrainView {
    /// The breaker is off and nothing is in flight.
    pub safe: bool,
    /// Steps in a worker's hands; parents that only wait for their children do not count.
    pub in_flight: i64,
    pub dispatch_group: Option<String>,
    pub breaker: BreakerView,
}
