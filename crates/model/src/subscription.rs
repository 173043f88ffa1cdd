//! Who is told of what happens to workflows, and where.

use crate::{SubscriptionId, Timestamp};
use std::collections::BTreeMap;

/// What somebody wants to be told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSubscription {
    pub name: String,
    /// Where each event is delivered.
    pub url: String,
    /// Kinds of events: `workflow.failed`, all that begin with `workflow.*`, or `*`.
    pub types: Vec<String>,
    /// Only of workflows of this definition.
    pub workflow: Option<String>,
    /// Only of workflows that have all of these.
    pub labels: BTreeMap<String, String>,
    /// Nothing is delivered while it is not.
    pub active: bool,
    /// Events of one workflow are delivered one after another.
    pub ordered: bool,
}

/// A subscription on record; what its deliveries are signed with is not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    pub id: SubscriptionId,
    pub asked: NewSubscription,
    pub created_at: Timestamp,
    pub created_by: String,
    /// How often it was changed; every change names the one it saw.
    pub revision: u64,
}
