//! Dispatch groups: who decides for each, and how much there is in it.

use crate::{BreakerView, Figures};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupView {
    pub dispatch_group: String,
    /// The node that decides for it.
    pub owner: Option<String>,
    /// The fence: one more for every owner.
    pub epoch: u64,
    pub lease_ends_at: Option<String>,
    pub can_dispatch_steps: bool,
    pub breaker: BreakerView,
    pub last_selected_at: Option<String>,
    pub current_tick_id: Option<i64>,
    pub last_tick_completed_at: Option<String>,
    pub steps: Figures,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupPage {
    pub groups: Vec<GroupView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
