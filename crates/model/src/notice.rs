//! What somebody is told: how grave it is, about what, in which words. Where it goes is the configuration's business.

use crate::state::words;
use crate::{Timestamp, UnknownWord};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

words! {
    /// How grave it is that something stands still, which decides who is told.
    Severity, "severity" {
        /// Noted in the log.
        Low = "low",
        /// The administrator is told.
        Medium = "medium",
        /// The administrator is told again until somebody acknowledges it.
        High = "high",
        /// As high, and it stands in the review queue at once.
        Critical = "critical",
    }
}

words! {
    /// Whom a notice is meant for.
    Audience, "audience" {
        Admin = "admin",
        /// Whom the work is done for: told in one sentence, without its inner life.
        User = "user",
    }
}

/// One thing to tell, made in the commit of what it tells of.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Notice {
    /// The event, as `alert.opened`.
    pub kind: String,
    pub audience: Audience,
    pub severity: Severity,
    /// What it is about: `step`, `workflow`, `flow`, and which.
    pub entity_type: String,
    pub entity_id: String,
    /// For whom the work is done, if somebody is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// One line.
    pub title: String,
    /// What happened and what can be done, in sentences.
    pub text: String,
    /// The same key is told once.
    pub key: String,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}
