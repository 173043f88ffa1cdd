//! Takes a step back from a session that is gone.
//!
//! Finds   steps held by a session whose lease ran out, or that a heartbeat no longer names.
//! Emits   `LeaseLost` (back to Pending), `LostTooOften` (Stopped), or `Failed(lease_lost)` for a parent with children.
//! Why     never by age: only the lease says that a worker is gone. A parent that already has children is not run
//!         again, for it would make them again.

use model::{Block, Detail, Effect, Event, Move, Reason, Step, limits};

pub fn decide(step: &Step, children: Option<&Block>) -> Option<Effect> {
    if !step.is_held() {
        return None;
    }
    let detail = |message: String| Detail { error_message: Some(message), ..Detail::default() };
    let wanted = if children.is_some_and(|b| b.total() > 0) {
        let message = "its worker was lost after the step had children; it is not run again".to_string();
        Move { reason: Some(Reason::LeaseLost), detail: detail(message), ..Move::new(step.id, Event::Failed) }
    } else if step.lost_attempts >= limits::LOST_ATTEMPTS_MAX {
        let message = format!("its worker was lost {} times", step.lost_attempts + 1);
        Move { detail: detail(message), ..Move::new(step.id, Event::LostTooOften) }
    } else {
        Move::new(step.id, Event::LeaseLost)
    };
    Some(Effect::MoveStep(Box::new(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{running, told_effect};
    use model::{BlockId, DispatchGroup};

    #[test]
    fn a_lost_step_goes_back_until_its_limit() {
        assert_eq!(told_effect(&decide(&running("charge lost=0"), None).unwrap()), "lease_lost");
        assert_eq!(told_effect(&decide(&running("charge lost=2"), None).unwrap()), "lost_too_often");
    }

    #[test]
    fn a_lost_parent_with_children_fails_with_them() {
        let mut block = Block::new(BlockId::of(9), DispatchGroup::new("alpha"));
        block.steps.hot = 2;
        assert_eq!(told_effect(&decide(&running("order"), Some(&block)).unwrap()), "failed lease_lost");
    }
}
