//! What others see of an engine while it works, and of its commits.

use crate::Meters;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{Result, StoreError};
use tokio::sync::watch;

/// What others see of an engine while it works.
#[derive(Clone)]
pub struct Signs {
    pub healthy: Arc<AtomicBool>,
    /// Work waits in a group of this node, and no step of any of its groups has ended for long.
    pub stalled: Arc<AtomicBool>,
    /// Counts turns that told something of workflows.
    pub told: watch::Sender<u64>,
    pub meters: Meters,
}

/// What became of a commit.
#[derive(Clone, Copy)]
pub enum CommitOutcome {
    Stored,
    Refused,
    Unknown,
}

impl CommitOutcome {
    pub const ALL: &[CommitOutcome] =
        &[CommitOutcome::Stored, CommitOutcome::Refused, CommitOutcome::Unknown];
    pub fn word(self) -> &'static str {
        match self {
            CommitOutcome::Stored => "stored",
            CommitOutcome::Refused => "refused",
            CommitOutcome::Unknown => "unknown",
        }
    }
    pub fn of(outcome: &Result<()>) -> CommitOutcome {
        match outcome {
            Ok(()) => CommitOutcome::Stored,
            Err(StoreError::Unknown(_)) => CommitOutcome::Unknown,
            Err(_) => CommitOutcome::Refused,
        }
    }
}
