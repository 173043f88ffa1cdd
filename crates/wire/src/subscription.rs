//! Subscriptions: who is told of what happens to workflows, and where.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A subscription to make.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SubscriptionBody {
    pub name: String,
    /// Where each event is delivered.
    pub url: String,
    /// `workflow.failed`, all that begin with `workflow.*`, or `*`.
    pub types: Vec<String>,
    /// Only of workflows of this definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Only of workflows that have all of these.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Whether anything is delivered; yes when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Whether events of one workflow are delivered one after another; no when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordered: Option<bool>,
    /// What deliveries are signed with, as `whsec_…`; made when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Who makes it, where the caller has no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl fmt::Debug for SubscriptionBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscriptionBody").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What is to be different; what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SubscriptionChangeBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<String>>,
    /// An empty text stands for workflows of every definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordered: Option<bool>,
    /// `renew` makes a new secret, which signs beside the one before it; `drop_old` lets the newest sign alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A subscription as it is on record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionView {
    pub id: String,
    pub name: String,
    pub url: String,
    pub types: Vec<String>,
    pub workflow: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub active: bool,
    pub ordered: bool,
    pub created_at: String,
    pub created_by: String,
    pub revision: u64,
}

/// A subscription and, where one was made just now, its secret. That is shown here and never again.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionMadeView {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    #[serde(flatten)]
    pub about: SubscriptionView,
}

impl fmt::Debug for SubscriptionMadeView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscriptionMadeView").field("about", &self.about).finish_non_exhaustive()
    }
}

/// Oldest first; `next` is the `after` of the next page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionPage {
    pub subscriptions: Vec<SubscriptionView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The step that delivers a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionTestView {
    pub step_id: String,
}
