//! What people ask of a store: filters in, whole rows out.

use crate::TallyKey;
use model::{Detail, State, Status, Step, StepId, Timestamp};

/// Which steps to list. Everything left out does not filter.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub states: Vec<State>,
    pub statuses: Vec<Status>,
    pub action: Option<String>,
    pub queue: Option<String>,
    /// Any of these, whatever else is said; none are all.
    pub queues: Vec<String>,
    pub dispatch_group: Option<String>,
    pub step_key: Option<String>,
    pub relatable_type: Option<String>,
    pub relatable_id: Option<String>,
    pub block: Option<model::BlockId>,
    pub workflow: Option<model::WorkflowId>,
    pub message_group: Option<String>,
    pub pool: Option<String>,
    /// Steps older than this one, newest first; or newer, oldest first, when `ascending`.
    pub after: Option<StepId>,
    pub ascending: bool,
    pub limit: usize,
}

/// A step as people see it: what rules know, and what they do not.
#[derive(Debug, Clone)]
pub struct StepRow {
    pub step: Step,
    pub detail: Detail,
}

/// How many steps there are of each sort, and when the oldest was created that stands alone and waits for nothing but a worker.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    pub tallies: Vec<(TallyKey, i64)>,
    pub oldest_pending: Option<Timestamp>,
}
