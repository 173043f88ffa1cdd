//! What holds in every state of a world in which something is undone, and what must come about in some.

use super::STEPS;
use super::Undoing;
use super::rows::{Row, State};
use model::{CompensationState as C, State as S, WorkflowState as W};
use stateright::Property;

pub fn all() -> Vec<Property<Undoing>> {
    vec![
        Property::always(TWICE, |_, state: &State| state.undone.iter().all(|times| *times <= 1)),
        Property::always(LEFT, |_, state: &State| state.workflow != W::Compensated || is_all_undone(state)),
        Property::always(TAKEN, |_, state: &State| {
            let all = state.taken.iter().zip(&state.steps);
            all.into_iter().all(|(taken, row)| taken.is_none_or(|taken| taken == row.state))
        }),
        Property::always(STRANGER, |_, state: &State| !state.stranger),
        Property::always(ORDER, |_, state: &State| is_backwards(state)),
        Property::always(STILL, |_, state: &State| state.plan.is_none() || !state.is_live()),
        Property::always("what is over for good stays so", |_, state: &State| {
            state.last.is_none_or(|last| state.workflow == last)
        }),
        Property::sometimes("both are undone", |_, state: &State| {
            state.workflow == W::Compensated && state.undone == [1; STEPS]
        }),
        Property::sometimes("it is left as it is", |_, state: &State| {
            state.workflow == W::Compensated
                && state.plan.iter().flatten().any(|line| line.state == C::Skipped)
        }),
        Property::sometimes("it cannot be undone", |_, state: &State| {
            state.workflow == W::CompensationFailed
        }),
        Property::sometimes("an answer comes late", |_, state: &State| {
            state.was_late && state.workflow == W::Compensated
        }),
        Property::sometimes("it is cancelled", |_, state: &State| state.workflow == W::Cancelled),
    ]
}

/// Whatever completed and says how is undone, or was left as it is by somebody who knew.
fn is_all_undone(state: &State) -> bool {
    let line = |n: usize| state.plan.iter().flatten().find(|line| line.def == n).map(|line| line.state);
    let is_settled = |n: usize| matches!(line(n), Some(C::Succeeded | C::Skipped));
    let completed = |row: &Row| row.state == S::Completed;
    let mut steps = state.steps.iter().enumerate();
    steps.all(|(n, row)| !completed(row) || is_settled(n)) && (state.steps[1].attempt == 0 || is_settled(1))
}

/// One at a time, the last that ended first.
fn is_backwards(state: &State) -> bool {
    let Some(lines) = &state.plan else { return true };
    let ends: Vec<u8> = lines.iter().map(|line| state.steps[line.def].ended).collect();
    ends.is_sorted_by(|one, next| one > next)
        && lines.iter().filter(|line| line.state == C::Running).count() <= 1
}

pub const TWICE: &str = "nothing is undone twice";
pub const LEFT: &str = "nothing that was done and can be undone stays done";
pub const TAKEN: &str = "a late answer changes nothing of what was taken back";
pub const STRANGER: &str = "only whoever holds a step answers for it";
pub const ORDER: &str = "one after the other, backwards";
pub const STILL: &str = "the plan is made when nothing runs any more";
