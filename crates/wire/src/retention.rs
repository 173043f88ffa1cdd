//! What archive and purge are asked for, and what they took away.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What leaves the live tables, by whole trees in which nothing happened since `before`, in microseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RetentionBody {
    /// Move to the archive; attempts and history stay.
    Archive {
        before: i64,
        /// Needed, unless it is only tried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// Who asks, where the caller has no key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Delete for good: the archive, and unless `only_archive` the live tables; with `ticks` also the tick records.
    Purge {
        before: i64,
        only_archive: bool,
        ticks: bool,
        /// Needed, unless it is only tried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// Who asks, where the caller has no key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
}

/// One page of it; the same request goes on behind it while there is `more`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetainedView {
    /// Whole trees, of which the other figures are part.
    pub trees: usize,
    pub steps: usize,
    pub blocks: usize,
    pub ticks: usize,
    /// With their steps, which are among the trees.
    #[serde(default)]
    pub workflows: usize,
    #[serde(default)]
    pub flows: usize,
    pub more: bool,
}
