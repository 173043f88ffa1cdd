//! API keys: what a caller may do with one, and what is known of it. The secret is never part of a noun.

use crate::state::{UnknownWord, words};
use crate::{KeyId, Name, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// What a call does. Every route says which of these it is.
    Right, "right" {
        /// Look, and change nothing.
        View = "view",
        /// Create work.
        Start = "start",
        /// Move work by hand, switch breakers.
        Operate = "operate",
        /// What a worker does: claim, heartbeat, report.
        Work = "work",
        /// Put on record how far work is that runs elsewhere.
        Track = "track",
        /// Keys, retention, and whatever else is about the place itself.
        Administer = "administer",
    }
);

words!(
    /// What somebody with a key is.
    Role, "role" {
        Viewer = "viewer",
        Operator = "operator",
        Worker = "worker",
        Admin = "admin",
    }
);

impl Role {
    pub fn may(self, right: Right) -> bool {
        match self {
            Role::Viewer => right == Right::View,
            Role::Operator => matches!(right, Right::View | Right::Start | Right::Operate | Right::Track),
            Role::Worker => matches!(right, Right::Work | Right::Track),
            Role::Admin => true,
        }
    }
}

/// A key as it is on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub id: KeyId,
    pub name: String,
    pub role: Role,
    /// The queues it may create into and claim from; empty is all of them.
    pub scope: Vec<Name>,
    pub created_at: Timestamp,
    pub created_by: String,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// To within a minute.
    pub last_used_at: Option<Timestamp>,
}

impl Key {
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }
    /// Whether it may create into this queue and claim from it.
    pub fn covers(&self, queue: &str) -> bool {
        self.scope.is_empty() || self.scope.iter().any(|name| &**name == queue)
    }
    /// How it signs in the audit.
    pub fn signature(&self) -> String {
        format!("{} (key {})", self.name, self.id)
    }
}

/// A key as someone asks for it, before any rule has looked at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewKey {
    pub name: String,
    pub role: String,
    pub scope: Vec<String>,
    pub expires_days: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_role_may_do() {
        let table: Vec<String> = Role::ALL
            .iter()
            .map(|role| {
                let rights = Right::ALL.iter().filter(|right| role.may(**right));
                format!("{role}: {}", rights.map(|r| r.word()).collect::<Vec<_>>().join(" "))
            })
            .collect();
        assert_eq!(
            table,
            [
                "viewer: view",
                "operator: view start operate track",
                "worker: work track",
                "admin: view start operate work track administer"
            ]
        );
    }
}
