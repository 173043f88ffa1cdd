//! Why the engine did not do what it was asked.

use model::{Fault, StepId, SubscriptionId, WorkflowId, limits};
use rules::operator::Refusal;
use serde::{Deserialize, Serialize};
use store::StoreError;
use thiserror::Error;

#[derive(Debug, Error, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineError {
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Fault>),
    #[error("there is no step {0}")]
    NoStep(StepId),
    #[error("there is no workflow {0}")]
    NoWorkflow(WorkflowId),
    #[error("there is no definition `{0}`; store one with `stepfast apply`")]
    NoDefinition(String),
    #[error(
        "version {version} of `{workflow}` is on record and says something else; give it another version"
    )]
    DefinitionDiffers { workflow: String, version: String },
    #[error("workflow {workflow}: {why}")]
    WorkflowRefused { workflow: WorkflowId, why: String },
    #[error("workflow {workflow} has changed since; it is at version {version} now")]
    WorkflowChanged { workflow: WorkflowId, version: u64 },
    /// A step, a subscription or an alert that is not what the caller has seen.
    #[error("{what} has changed since; it is at version {version} now")]
    Changed { what: String, version: u64 },
    #[error("workflow {workflow} never waits for a trigger `{trigger}`{}", others(.known))]
    NoTrigger { workflow: WorkflowId, trigger: String, known: Vec<String> },
    #[error("subscription {0} has changed since; look at it again")]
    SubscriptionChanged(SubscriptionId),
    #[error("there is no channel `{0}`; `stepfast notify list` shows them")]
    NoChannel(String),
    #[error("there is no alert {0}")]
    NoAlert(u64),
    #[error("alert {alert}: {why}")]
    AlertRefused { alert: u64, why: String },
    #[error("stuck rule `{0}` has changed since; look at it again")]
    StuckRuleChanged(String),
    #[error("there is no dispatch group `{0}`")]
    NoGroup(String),
    #[error("step {step}: {why}")]
    Refused { step: StepId, why: String },
    #[error("message group `{message_group}`: {why}")]
    GroupRefused { message_group: String, why: String },
    #[error("the session is not known; it has ended or its lease ran out")]
    NoSession,
    #[error("these steps join blocks that different nodes decide for; create them in separate requests")]
    Apart,
    #[error("the node that decides about it could not store this; the log of that node says why")]
    Undone,
    /// Never an answer to another node: what could not be stored is looked at again.
    #[error("{}", unavailable(.0))]
    #[serde(skip)]
    Unavailable(StoreError),
    /// The database refuses what this very request asks for; asking again changes nothing.
    #[error("nothing was stored: {0}")]
    #[serde(skip)]
    Unstorable(StoreError),
    #[error("the engine is stopping")]
    #[serde(skip)]
    Stopping,
}

impl EngineError {
    pub(crate) fn changed(what: String, version: u64) -> EngineError {
        EngineError::Changed { what, version }
    }
    /// What the steps before a step answered does not fit into one answer.
    pub fn too_much_before(step: StepId) -> EngineError {
        let why = format!(
            "the steps before it answered more than {} times or {} bytes; let them keep it elsewhere and answer where",
            limits::PREVIOUS_STEPS_MAX,
            limits::PREVIOUS_BYTES_MAX
        );
        EngineError::Refused { step, why }
    }
    pub fn refused(step: StepId, refusal: Refusal) -> EngineError {
        EngineError::Refused { step, why: refusal.to_string() }
    }
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        EngineError::Unavailable(error)
    }
}

fn others(triggers: &[String]) -> String {
    match triggers {
        [] => "; its definition has no `pause_after` with one".into(),
        some => format!("; it waits for `{}`", some.join("`, `")),
    }
}

fn unavailable(problem: &StoreError) -> String {
    match problem {
        StoreError::Unknown(_) => problem.to_string(),
        _ => format!("nothing was stored: {problem}"),
    }
}
