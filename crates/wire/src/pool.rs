//! Pools: named limits that steps share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A pool to make, or the new limits of one that exists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PoolBody {
    pub name: String,
    /// How many of its steps may run at once; 0 lets nothing start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// How many of its steps may start in a span of time, evenly spread: `5/s`, `100/m`, `10/15m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// How many may start at once after a pause; 1 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Who asks for it, where the caller has no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A pool and how it is used now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PoolView {
    pub name: String,
    pub concurrency: Option<u32>,
    pub rate: Option<String>,
    pub burst: Option<u32>,
    /// Steps of it that a worker has.
    pub used: usize,
    /// When the rate lets the next one start, if not now.
    pub next_start_at: Option<String>,
}

/// Every pool, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PoolPage {
    pub pools: Vec<PoolView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
