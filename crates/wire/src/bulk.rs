//! The same done to many: what is asked for, what it would come to, and how far it is.

use crate::ResolveBody;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One verb or decision for all steps or workflows for which something holds.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BulkBody {
    /// `steps` or `workflows`.
    #[schemars(extend("enum" = ["steps", "workflows"]))]
    pub what: String,
    pub filter: BulkFilter,
    /// What is done to each: a verb of `/v1/steps/{id}/{verb}` or of `/v1/workflows/{id}/{verb}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = [
        "complete", "fail", "stop", "skip", "cancel", "retry", "pause", "resume", "compensate",
        "retry_compensation", "skip_compensation", "mark_resolved", null
    ]))]
    pub verb: Option<String>,
    /// What is decided about each, in place of a verb: for workflows alone, as for `/v1/workflows/{id}/resolve`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<ResolveBody>,
    /// It goes into the audit of each; a preview needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Count them, try a few of them, and do nothing.
    pub dry_run: bool,
    /// So many are meant at most, as a preview has counted them; more than 1,000 are not touched without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<u64>,
    /// So many in a second at most; without it a quarter of the time is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0 / 60.0, max = 10000.0))]
    pub per_second: Option<f64>,
    /// Who asks, where the caller has no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Which are meant; everything that is said must hold, and something must be said. Whatever comes later is not meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BulkFilter {
    /// Those that are in one of these states now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<String>,
    /// Of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatch_group: Option<String>,
    /// Of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_key: Option<String>,
    /// Of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relatable_type: Option<String>,
    /// Of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relatable_id: Option<String>,
    /// Of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_id: Option<String>,
    /// Of steps: the workflow that they belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<String>,
    /// Of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_group: Option<String>,
    /// Of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Of workflows: the name of their definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Of workflows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Of workflows: all of these.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Of workflows: made at this instant or later, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Of workflows: made before this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Of workflows: being done, and nothing has happened since this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_since: Option<String>,
}

/// One of those that are meant, and what would become of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BulkSample {
    pub id: String,
    /// Where it would go, or why it would be refused.
    pub would: String,
    pub refused: bool,
}

/// How many are meant, and a few of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BulkPreview {
    pub matched: u64,
    /// There are more than are counted.
    pub more: bool,
    pub sample: Vec<BulkSample>,
}

/// One that was refused, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BulkRefusal {
    pub id: String,
    pub why: String,
}

/// How far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BulkProgress {
    /// Those that were asked for.
    pub looked: u64,
    pub done: u64,
    pub refused: u64,
    /// The first that were refused.
    #[serde(default)]
    pub refusals: Vec<BulkRefusal>,
    /// The last that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A bulk operation on record; it is a workflow too, under the same id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BulkView {
    pub id: String,
    /// That of its workflow: `running`, `succeeded`, `cancelled` and so on.
    pub state: String,
    pub what: String,
    pub verb: String,
    pub why: String,
    pub by: String,
    /// How many were meant when it was asked for, and whether there were more than are counted.
    pub matched: u64,
    pub more: bool,
    pub progress: BulkProgress,
    pub created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
    pub revision: u64,
}

/// What was previewed, or what now runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BulkAnswer {
    Running(Box<BulkView>),
    Preview(BulkPreview),
}

/// Bulk operations, newest first; `next` is the `after` of the following page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BulkPage {
    pub bulk: Vec<BulkView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
