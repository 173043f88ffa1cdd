//! Why something is not done, or not recorded.

use model::{ExecutionName, Fault};
use rules::idempotency::Refusal;
use std::fmt::Display;
use std::time::Duration;
use store::StoreError;
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Error)]
pub enum ExecutionError {
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Fault>),
    #[error("execution {name} is in progress; ask again in {:.1} s", .retry_after.as_secs_f64())]
    InProgress { name: ExecutionName, retry_after: Duration },
    #[error("execution {name} was begun with another input; use another key for other work")]
    Conflict { name: ExecutionName },
    #[error("execution {name} failed {failures} times and is given up: {error}")]
    GivenUp { name: ExecutionName, failures: u32, error: String },
    /// Whoever wants to end or renew it is not, or no longer, its owner.
    #[error("execution {name}: {why}")]
    Refused { name: ExecutionName, why: Refusal },
    /// The answer that is kept is not of the kind the caller expects.
    #[error("the answer kept for execution {name} cannot be read: {problem}")]
    Unreadable { name: ExecutionName, problem: String },
    /// It is done and on record, but without its answer.
    #[error("execution {name} is done, but its answer of {bytes} bytes is too large to be kept")]
    AnswerTooLarge { name: ExecutionName, bytes: usize },
    #[error(transparent)]
    Unavailable(StoreError),
}

/// Why `once` has no answer.
#[derive(Debug, Error)]
pub enum OnceError<E: Display> {
    /// The operation ran and failed; that is on record.
    #[error("{0}")]
    Operation(E),
    #[error(transparent)]
    Execution(#[from] ExecutionError),
}
