//! Something that is done once under a key, however often it is asked for: what is asked, and what is on record.

use crate::state::{UnknownWord, words};
use crate::{Fault, OwnerToken, Timestamp, limits};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A key means something only within its namespace, so that two kinds of work never share an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ExecutionName {
    pub namespace: String,
    pub key: String,
}

impl ExecutionName {
    pub fn new(namespace: impl Into<String>, key: impl Into<String>) -> ExecutionName {
        ExecutionName { namespace: namespace.into(), key: key.into() }
    }
}

impl fmt::Display for ExecutionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.namespace, self.key)
    }
}

/// SHA-256 of what is worked on: the same key with another input is a mistake of the caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct InputHash(pub [u8; 32]);

impl fmt::Display for InputHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
impl fmt::Debug for InputHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InputHash({self})")
    }
}

/// What a caller asks for. The owner is made by the caller, so that asking again after a lost answer finds its own beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionAsk {
    pub name: ExecutionName,
    pub input: InputHash,
    pub owner: OwnerToken,
    /// How long the caller may be silent before another takes over.
    pub lease: Duration,
    /// Failures, the first included, after which nobody tries again.
    pub max_attempts: u32,
    /// How long the answer is kept.
    pub keep: Duration,
}

impl ExecutionAsk {
    /// Everything that is wrong with it.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = name_faults(&self.name);
        let mut add = |field: &str, problem: &str, fix: String| {
            faults.push(Fault { field: field.into(), problem: problem.into(), fix });
        };
        if !(1..=limits::ATTEMPTS_MAX).contains(&self.max_attempts) {
            let fix = format!("write a number from 1 to {}", limits::ATTEMPTS_MAX);
            add("max_attempts", "is out of range", fix);
        }
        if !(limits::EXECUTION_LEASE_MIN..=limits::EXECUTION_LEASE_MAX).contains(&self.lease) {
            let (min, max) = (limits::EXECUTION_LEASE_MIN.as_secs(), limits::EXECUTION_LEASE_MAX.as_secs());
            add("lease", "is out of range", format!("use {min} s to {max} s, and renew it"));
        }
        if !(limits::EXECUTION_KEEP_MIN..=limits::EXECUTION_KEEP_MAX).contains(&self.keep) {
            let days = limits::EXECUTION_KEEP_MAX.as_secs() / 86_400;
            add("keep", "is out of range", format!("use one second to {days} days"));
        }
        faults
    }
}

/// What is wrong with a namespace and a key.
pub fn name_faults(name: &ExecutionName) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (field, text, example) in
        [("namespace", &name.namespace, "payments.credit"), ("key", &name.key, "payment-123")]
    {
        if text.trim().is_empty() {
            let fix = format!("write for example `{example}`");
            faults.push(Fault { field: field.into(), problem: "is empty".into(), fix });
        } else if text.len() > limits::NAME_BYTES_MAX {
            let problem = format!("is {} bytes long", text.len());
            let fix = format!("use at most {} bytes", limits::NAME_BYTES_MAX);
            faults.push(Fault { field: field.into(), problem, fix });
        } else if text.contains('\0') {
            faults.push(Fault::nul(field));
        }
    }
    faults
}

/// One execution as it is on record.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    pub name: ExecutionName,
    pub input: InputHash,
    pub standing: Standing,
    /// Who began last; nobody else may end it.
    pub owner: OwnerToken,
    /// The n-th beginning, takeovers included.
    pub attempt: u32,
    pub failed_attempts: u32,
    pub max_attempts: u32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub keep_until: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    InProgress { lease_ends_at: Timestamp },
    Done { answer: String },
    Failed { error: String },
}

impl Standing {
    pub fn state(&self) -> ExecutionState {
        match self {
            Standing::InProgress { .. } => ExecutionState::InProgress,
            Standing::Done { .. } => ExecutionState::Done,
            Standing::Failed { .. } => ExecutionState::Failed,
        }
    }
}

words!(
    /// Where an execution stands, in one word.
    ExecutionState, "state of an execution" { InProgress = "in_progress", Done = "done", Failed = "failed" }
);
words!(
    /// What happened to an execution.
    ExecutionEvent, "event of an execution" { Begun = "begun", TakenOver = "taken_over", Done = "done", Failed = "failed" }
);

/// One line of an execution's history.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionMoment {
    pub at: Timestamp,
    pub attempt: u32,
    pub event: ExecutionEvent,
    pub owner: OwnerToken,
    pub error: Option<String>,
}
