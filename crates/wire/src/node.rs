//! Nodes, and the worker sessions that are on record with each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One engine, live or gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeView {
    pub id: String,
    pub host: String,
    pub pid: u32,
    pub url: Option<String>,
    pub version: String,
    pub live: bool,
    pub started_at: String,
    pub seen_at: String,
    pub ended_at: Option<String>,
    /// The dispatch groups it decides for.
    pub dispatch_groups: Vec<String>,
    /// Since when, for each of them.
    #[serde(default)]
    pub owned_since: BTreeMap<String, Option<String>>,
    /// It decides for the first of all dispatch groups that anybody decides for.
    #[serde(default)]
    pub leader: bool,
    /// It decides for none while another node does.
    #[serde(default)]
    pub standby: bool,
    pub sessions: Vec<SessionView>,
}

/// One worker process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionView {
    pub id: String,
    pub host: String,
    pub live: bool,
    pub queues: Vec<String>,
    pub actions: Vec<String>,
    pub capacity: usize,
    pub started_at: String,
    pub lease_ends_at: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodePage {
    pub nodes: Vec<NodeView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
