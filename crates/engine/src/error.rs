//! Why the engine did not do what it was asked.

use model::{Fault, StepId};
use rules::operator::Refusal;
use store::StoreError;
use thiserror::Error;

#[derive(Debug, Error, Clone, PartialEq)]
pub enum EngineError {
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Fault>),
    #[error("there is no step {0}")]
    NoStep(StepId),
    #[error("there is no dispatch group `{0}`")]
    NoGroup(String),
    #[error("step {step}: {why}")]
    Refused { step: StepId, why: String },
    #[error("the session is not known; it has ended or its lease ran out")]
    NoSession,
    #[error("{}", unavailable(.0))]
    Unavailable(StoreError),
    /// The database refuses what this very request asks for; asking again changes nothing.
    #[error("nothing was stored: {0}")]
    Unstorable(StoreError),
    #[error("the engine is stopping")]
    Stopping,
}

impl EngineError {
    pub fn refused(step: StepId, refusal: Refusal) -> EngineError {
        EngineError::Refused { step, why: refusal.to_string() }
    }
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        EngineError::Unavailable(error)
    }
}

fn unavailable(problem: &StoreError) -> String {
    match problem {
        StoreError::Unknown(_) => problem.to_string(),
        _ => format!("nothing was stored: {problem}"),
    }
}
