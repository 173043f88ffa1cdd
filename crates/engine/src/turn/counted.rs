//! What a turn does to steps, as figures: told once it is stored, and not if it is refused.

use super::readiness::Readiness;
use crate::meters::Counted;
use model::{Step, Timestamp};
use rules::board::{Changes, StepChange};

/// Add what some changes are.
pub fn count(counted: &mut Counted, changes: &Changes, ready: &mut Readiness, now: Timestamp) {
    for (step, change) in &changes.steps {
        let before = change.before.as_ref();
        counted.created += u64::from(before.is_none());
        if is_given(step, change) {
            counted.started += 1;
            counted.waits.extend(ready.since(step, before).map(|since| now.since(since)));
            ready.given(step.id);
        }
        let Some(before) = before else { continue };
        if before.is_held() && !(step.is_held() && step.attempt == before.attempt) {
            counted.ran.extend(before.started_at.map(|since| now.since(since)));
        }
        counted.failed += u64::from(step.failed_attempts.saturating_sub(before.failed_attempts));
        counted.lost += u64::from(step.lost_attempts.saturating_sub(before.lost_attempts));
        if step.state.is_terminal() && !before.state.is_terminal() {
            counted.ended.push(step.state);
        }
    }
}

/// A worker or a queue has it from now on.
fn is_given(step: &Step, change: &StepChange) -> bool {
    step.is_held() && change.before.as_ref().is_none_or(|before| step.attempt > before.attempt)
}
