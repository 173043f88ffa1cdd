//! What one turn changed: each row once, as it was and as it is now.

use model::{Block, Detail, DispatchGroup, Event, State, Step, StepId, Timestamp};

/// A changed step: `before` is none for a new one; `detail` holds what people read and rules do not.
#[derive(Clone, Debug)]
pub struct StepChange {
    pub before: Option<Step>,
    pub detail: Detail,
}

#[derive(Clone, Debug)]
pub struct BlockChange {
    pub before: Option<Block>,
}

/// One move, for the history and for the tick's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    pub step: StepId,
    pub dispatch_group: DispatchGroup,
    pub from: Option<State>,
    pub event: Option<Event>,
    pub to: State,
    pub attempt: u32,
    pub at: Timestamp,
}

impl Moved {
    pub fn created(step: &Step) -> Moved {
        Moved {
            step: step.id,
            dispatch_group: step.dispatch_group.clone(),
            from: None,
            event: None,
            to: step.state,
            attempt: step.attempt,
            at: step.created_at,
        }
    }
    pub fn of(step: &Step, from: State, event: Event, at: Timestamp) -> Moved {
        // Whoever dispatches a step raises its attempt; the history names the new one.
        let attempt = step.attempt + u32::from(event == Event::Dispatched);
        Moved { from: Some(from), event: Some(event), attempt, at, ..Moved::created(step) }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub steps: Vec<(Step, StepChange)>,
    pub blocks: Vec<(Block, BlockChange)>,
    pub moves: Vec<Moved>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.blocks.is_empty()
    }
}
