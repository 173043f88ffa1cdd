//! Message groups as they are shown.

use super::instant;
use engine::{GroupOperated, GroupVerb};
use model::{GroupHold, StepId};
use store::MessageGroup;

pub fn message_group_view(group: &MessageGroup) -> wire::MessageGroupView {
    let state = match () {
        () if group.holds.iter().any(|hold| hold.blocked_by.is_none()) => "paused",
        () if !group.holds.is_empty() => "blocked",
        () if group.in_flight => "running",
        () => "waiting",
    };
    wire::MessageGroupView {
        message_group: group.name.to_string(),
        dispatch_group: group.home.to_string(),
        state: state.into(),
        waiting: group.waiting,
        head: group.head.map(|id| id.to_string()),
        in_flight: group.in_flight,
        mode: group.mode.map(|mode| mode.to_string()),
        holds: group.holds.iter().map(hold_view).collect(),
    }
}

fn hold_view(hold: &GroupHold) -> wire::HoldView {
    wire::HoldView {
        blocked_by: hold.blocked_by.map(|id| id.to_string()),
        at: instant(hold.at),
        by: hold.by.clone(),
        why: hold.why.clone(),
    }
}

pub fn group_operated_view(name: &str, verb: GroupVerb, done: &GroupOperated) -> wire::GroupOperatedView {
    let text = |id: &StepId| id.to_string();
    let replaced = |(step, by): &(StepId, Option<StepId>)| wire::ReplacedView {
        step_id: text(step),
        by: by.as_ref().map(text),
    };
    let moved =
        |(step, to): &(StepId, model::State)| wire::GroupMoveView { step_id: text(step), to: to.to_string() };
    wire::GroupOperatedView {
        message_group: name.into(),
        verb: verb.word().into(),
        forgiven: done.forgiven.iter().map(text).collect(),
        replaced: done.replaced.iter().map(replaced).collect(),
        moved: done.moved.iter().map(moved).collect(),
        more: done.more,
    }
}
