//! What a workflow says of holding its steps back: who paused it and why, or what failed in it.

use model::{PausedBy, Workflow, WorkflowState};
use std::fmt;

/// Characters of an error that are told; the rest is on the page of the workflow.
const TOLD: usize = 300;

#[derive(Clone, Debug, PartialEq)]
pub struct Holder {
    pub state: WorkflowState,
    pub paused_by: Option<PausedBy>,
    /// The person who paused it, as far as that is on record.
    pub by: Option<String>,
    pub why: Option<String>,
}

impl Holder {
    pub fn of(workflow: &Workflow, by: Option<String>) -> Holder {
        let Workflow { state, paused_by, message, .. } = workflow;
        Holder { state: *state, paused_by: *paused_by, by, why: message.clone() }
    }
    /// A person keeps it from going on.
    pub fn is_person(workflow: &Workflow) -> bool {
        (workflow.state, workflow.paused_by) == (WorkflowState::Paused, Some(PausedBy::Person))
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why: Option<String> = self.why.as_ref().map(|why| why.chars().take(TOLD).collect());
        if let (WorkflowState::Paused, Some(PausedBy::Person)) = (self.state, self.paused_by) {
            write!(f, "was paused")?;
            self.by.as_ref().map_or(Ok(()), |by| write!(f, " by {by}"))?;
            return why.map_or(Ok(()), |why| write!(f, " ({why})"));
        }
        write!(f, "{}", self.state.said())?;
        why.map_or(Ok(()), |why| write!(f, ": {why}"))
    }
}
