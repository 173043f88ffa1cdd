//! What people ask of a store: filters in, whole rows out.

use crate::TallyKey;
use model::{Detail, State, Step, Timestamp};

/// Which steps to list. Everything left out does not filter.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub states: Vec<State>,
    pub action: Option<String>,
    pub queue: Option<String>,
    pub dispatch_group: Option<String>,
    pub step_key: Option<String>,
    pub relatable_type: Option<String>,
    pub relatable_id: Option<String>,
    pub block: Option<model::BlockId>,
    /// Rows older than this one (its number), newest first; or newer, oldest first, when `ascending`.
    pub after: Option<i64>,
    pub ascending: bool,
    pub limit: usize,
}

/// A step as people see it: what rules know, what they do not, and its row number.
#[derive(Debug, Clone)]
pub struct StepRow {
    pub step: Step,
    pub detail: Detail,
    pub seq: i64,
}

/// How many steps there are of each sort, and when the oldest that waits was created.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    pub tallies: Vec<(TallyKey, i64)>,
    pub oldest_pending: Option<Timestamp>,
}
