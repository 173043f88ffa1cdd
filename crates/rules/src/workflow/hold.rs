//! Whether new steps of a workflow may begin: where holding one and letting it go on is possible.

use model::{PausedBy, WorkflowState};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    Pause,
    Resume,
}

impl Hold {
    pub fn leads_to(self) -> WorkflowState {
        match self {
            Hold::Pause => WorkflowState::Paused,
            Hold::Resume => WorkflowState::Running,
        }
    }
    pub fn fits(self, state: WorkflowState, paused_by: Option<PausedBy>) -> bool {
        let awaits = awaits(state, paused_by);
        match self {
            // One that waits for triggers waits for a person too, from then on.
            Hold::Pause => state == WorkflowState::Running || awaits,
            Hold::Resume => state == WorkflowState::Paused && !awaits,
        }
    }
}

/// All that is left of it waits for triggers and dates, and nobody holds it.
pub fn awaits(state: WorkflowState, paused_by: Option<PausedBy>) -> bool {
    state == WorkflowState::Paused && paused_by == Some(PausedBy::Trigger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_triggers_can_be_held_and_is_not_let_go_on_by_itself() {
        let (running, paused) = (WorkflowState::Running, WorkflowState::Paused);
        let fits = |state, by| [Hold::Pause, Hold::Resume].map(|hold| hold.fits(state, by));
        assert_eq!(fits(running, None), [true, false]);
        assert_eq!(fits(paused, Some(PausedBy::Trigger)), [true, false]);
        assert_eq!(fits(paused, Some(PausedBy::Person)), [false, true]);
        assert_eq!(fits(WorkflowState::Failed, None), [false, false]);
    }
}
