//! Open alerts, and the audit of what people did.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlertView {
    pub opened_at: String,
    /// `step` or `dispatch_group`.
    pub entity: String,
    pub entity_id: String,
    pub reason: String,
    /// `warning` or `critical`.
    pub severity: String,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlertPage {
    pub alerts: Vec<AlertView>,
}

/// One thing that a person did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditView {
    pub at: String,
    pub who: String,
    pub verb: String,
    pub target: String,
    pub why: Option<String>,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// The audit, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditPage {
    pub audit: Vec<AuditView>,
}
