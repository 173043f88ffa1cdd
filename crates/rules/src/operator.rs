//! What a person may do to one step by hand.
//!
//! Finds   the step a person named.
//! Emits   the forced move, or a refusal that says why.
//! Why     the same fenced moves as everything else; a person can decide an end but not break the tree: a parent is
//!         not completed over the heads of its live children.

use model::{Block, Detail, Effect, Event, Move, State, Step, StepId, WorkflowId};
use thiserror::Error;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    Complete,
    Fail,
    Stop,
    Skip,
    Cancel,
}

impl Verb {
    pub const ALL: [Verb; 5] = [Verb::Complete, Verb::Fail, Verb::Stop, Verb::Skip, Verb::Cancel];
    pub fn word(self) -> &'static str {
        match self {
            Verb::Complete => "complete",
            Verb::Fail => "fail",
            Verb::Stop => "stop",
            Verb::Skip => "skip",
            Verb::Cancel => "cancel",
        }
    }
    fn event(self) -> Event {
        match self {
            Verb::Complete => Event::ForcedComplete,
            Verb::Fail => Event::ForcedFail,
            Verb::Stop => Event::ForcedStop,
            Verb::Skip => Event::ForcedSkip,
            Verb::Cancel => Event::ForcedCancel,
        }
    }
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    #[error("the step {}, and that is an end; `steps retry` makes a new one in its place", .state.said())]
    Ended { state: State },
    #[error("{live} of its children have not ended; cancel, skip, stop or fail it, and they follow")]
    ChildrenLive { live: u32 },
    #[error("the step {}; only one that failed, stopped, timed out or was cancelled can be retried", .state.said())]
    NotFailed { state: State },
    #[error("it has children, and running it again would make them again; create the tree anew")]
    HasChildren,
    #[error("its parent {parent} {}; retry the parent instead", .state.said())]
    ParentEnded { parent: StepId, state: State },
    #[error("it is a step of workflow {workflow}, which decides what is done again")]
    OfWorkflow { workflow: WorkflowId },
}

pub fn decide(step: &Step, children: Option<&Block>, verb: Verb, why: &str) -> Result<Effect, Refusal> {
    if step.state.is_terminal() {
        return Err(Refusal::Ended { state: step.state });
    }
    if let (Verb::Complete, Some(block)) = (verb, children)
        && block.unsettled() - block.resolvers.not_runnable > 0
    {
        return Err(Refusal::ChildrenLive { live: block.unsettled() });
    }
    let detail = match verb {
        Verb::Fail | Verb::Stop => Detail { error_message: Some(why.into()), ..Detail::default() },
        _ => Detail { note: Some(why.into()), ..Detail::default() },
    };
    Ok(Effect::MoveStep(Box::new(Move { detail, ..Move::new(step.id, verb.event()) })))
}

/// Whether a step may be retried: a new step takes its place and it becomes Superseded.
pub fn may_retry(step: &Step, owner: Option<&Step>, children: Option<&Block>) -> Result<(), Refusal> {
    if let Some(part) = step.in_workflow {
        return Err(Refusal::OfWorkflow { workflow: part.workflow });
    }
    if !(step.state.is_failed() || step.state == State::Cancelled) {
        return Err(Refusal::NotFailed { state: step.state });
    }
    if children.is_some_and(|b| b.total() > 0) {
        return Err(Refusal::HasChildren);
    }
    match owner {
        Some(parent) if parent.state.is_terminal() => {
            Err(Refusal::ParentEnded { parent: parent.id, state: parent.state })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{running, told_effect};
    use model::{BlockId, DispatchGroup};

    #[test]
    fn an_end_is_an_end() {
        let mut step = running("charge");
        assert_eq!(told_effect(&decide(&step, None, Verb::Cancel, "no").unwrap()), "forced_cancel");
        step.state = State::Completed;
        assert_eq!(decide(&step, None, Verb::Cancel, "no"), Err(Refusal::Ended { state: State::Completed }));
    }

    #[test]
    fn a_parent_is_not_completed_over_live_children() {
        let mut block = Block::new(BlockId::of(9), DispatchGroup::new("alpha"));
        block.steps.hot = 2;
        let refused = decide(&running("order"), Some(&block), Verb::Complete, "done");
        assert_eq!(refused, Err(Refusal::ChildrenLive { live: 2 }));
        assert!(decide(&running("order"), Some(&block), Verb::Cancel, "off").is_ok());
    }
}
