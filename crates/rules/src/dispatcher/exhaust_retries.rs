//! A pending step that has used up its executions ends.
//!
//! Finds   pending steps with as many failed attempts as they may have, or more lost ones than they may.
//! Emits   `MoveStep(Exhausted | LostTooOften)`.
//! Why     the report that uses up the last execution already ends the step; this is the net for steps whose worker
//!         died in between, and for a limit that was lowered.

use super::View;
use model::{Detail, Effect, Event, Move, State, Step, limits};

pub fn decide(view: &View) -> Vec<Effect> {
    view.touched.iter().filter(|s| s.state == State::Pending).filter_map(|s| ended(s)).collect()
}

fn ended(step: &Step) -> Option<Effect> {
    let (event, message) = if step.failed_attempts >= step.max_attempts {
        (Event::Exhausted, format!("used all {} attempts", step.max_attempts))
    } else if step.lost_attempts > limits::LOST_ATTEMPTS_MAX {
        (Event::LostTooOften, format!("its worker was lost {} times", step.lost_attempts))
    } else {
        return None;
    };
    let detail = Detail { error_message: Some(message), ..Detail::default() };
    Some(Effect::MoveStep(Box::new(Move { detail, ..Move::new(step.id, event) })))
}

#[cfg(test)]
mod tests {
    use crate::check::settles;

    #[test]
    fn the_budget_ends_a_step() {
        settles("charge Pending failed=3", "charge Failed max_attempts");
        settles("charge Pending failed=2", "");
    }

    #[test]
    fn a_step_that_kills_its_workers_is_stopped() {
        settles("charge Pending lost=3", "charge Stopped lost_too_often");
        settles("charge Pending lost=2", "");
    }
}
