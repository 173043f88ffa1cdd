//! API keys: what is asked for, what is on record, and the one answer that holds a key itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A key to make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KeyBody {
    /// Whose key it is.
    pub name: String,
    /// `viewer`, `operator`, `worker` or `admin`.
    #[schemars(extend("enum" = ["viewer", "operator", "worker", "admin"]))]
    pub role: String,
    /// The queues it may create into and claim from; none is all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// It ends by itself after so many days; without it, it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_days: Option<u32>,
    /// Who makes it, where the caller has no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A key as it is on record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyView {
    pub id: String,
    pub name: String,
    #[schemars(extend("enum" = ["viewer", "operator", "worker", "admin"]))]
    pub role: String,
    pub scope: Vec<String>,
    /// `live`, `expired` or `revoked`.
    #[schemars(extend("enum" = ["live", "expired", "revoked"]))]
    pub state: String,
    pub created_at: String,
    pub created_by: String,
    pub expires_at: Option<String>,
    pub revoked_at: Option<String>,
    /// To within a minute.
    pub last_used_at: Option<String>,
}

/// A new key. It is shown here and never again.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyMadeView {
    pub key: String,
    #[serde(flatten)]
    pub about: KeyView,
}

impl fmt::Debug for KeyMadeView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyMadeView").field("about", &self.about).finish_non_exhaustive()
    }
}

/// Every key, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyPage {
    pub keys: Vec<KeyView>,
    /// Give it as `after` to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Calls with a wrong key that this node has refused since it started.
    pub refused: u64,
}
