//! What must be true of committed rows, of every claim and of every change.

use super::world::{Disk, World};
use crate::board::Changes;
use crate::check::recount_rows;
use crate::why::{Context, Why, why};
use crate::{machine, outbox};
use model::*;

/// Each move is one the machine has, from where the row was, and an end is left only to be superseded.
pub fn check_changes(disk: &Disk, changes: &Changes) {
    for moved in &changes.moves {
        let Some(from) = moved.from else { continue };
        let to = machine::next(from, moved.event.unwrap());
        assert_eq!(to, Ok(moved.to), "{moved:?}");
        assert!(!from.is_terminal() || moved.to == State::Superseded, "an end was left: {moved:?}");
    }
    for (step, change) in &changes.steps {
        assert_eq!(change.before.as_ref(), disk.steps.get(&step.id), "a change begins at the committed row");
        let was = change.before.as_ref().map_or(step.state, |before| before.state);
        assert!(!was.is_terminal() || [was, State::Superseded].contains(&step.state), "{was} -> {step:?}");
        assert!(!step.parked || (step.state == State::Running && step.session.is_none()), "{step:?}");
        assert_eq!(step.is_held(), step.session.is_some(), "{step:?}");
        assert!(step.wake_at.is_none() || !(step.is_held() || step.state.is_terminal()), "{step:?}");
    }
    for (block, change) in &changes.blocks {
        // An index that was only opened is not written; it follows from the counts.
        let counts = |b: &Block| Block { current_index: 0, resolver_index: 0, ..b.clone() };
        let (before, row) = (change.before.as_ref().map(counts), disk.blocks.get(&block.id).map(counts));
        assert_eq!(before, row, "a change begins at the committed row");
    }
}

/// The step's turn has come, in its tree and at the clock, and the session takes it.
pub fn check_claim(world: &World, id: StepId, session: SessionId) {
    let step = world.row(id).unwrap();
    let session = world.sessions.iter().find(|s| s.id == session).unwrap();
    assert_eq!(step.state, State::Pending, "{step:?}");
    assert!(step.is_due(world.board.now), "{step:?}");
    assert!(session.takes(&step.queue, &step.action) && session.free() > 0, "{session:?} takes {step:?}");
    assert!(!world.everywhere.is_off(world.board.now), "the breaker is off");
    assert!(!world.breakers[&step.dispatch_group].is_off(world.board.now), "its group's breaker is off");
    let Some(place) = step.place else { return };
    let block = &world.disk.blocks[&place.block];
    assert!(
        block.owner.is_none_or(|owner| world.row(owner).unwrap().parked),
        "its parent has not returned: {step:?}"
    );
    for (_, before) in world.disk.kin[&place.block].range(..(place.index, StepId::of(0))) {
        let before = world.row(*before).unwrap();
        let over = before.state.is_concluded() || before.state == State::Superseded;
        assert!(over || before.kind != step.kind, "{step:?} runs before {before:?}");
    }
}

/// All promises about a settled world, by its committed rows.
pub fn check(world: &mut World) {
    world.count_held();
    recount_rows(world.disk.steps.values(), |id| world.disk.blocks.get(&id));
    for block in world.disk.blocks.values() {
        assert!(!block.touched && block.sweep.is_none(), "at rest and not marked so: {block:?}");
        if let Some(owner) = block.owner {
            check_family(&world.disk.steps[&owner], block);
        }
    }
    for step in world.disk.steps.values() {
        assert!(
            step.state.is_hot() || named_cause_is_true(&world.disk, step),
            "{step:?} names a cause that is not"
        );
        let reasons = if step.state.is_terminal() { Vec::new() } else { why(step, &context(world, step)) };
        assert!(step.state.is_terminal() || !reasons.is_empty(), "lost work: {step:?}");
        for reason in reasons {
            assert!(is_true(world, step, &reason), "it is not true that {reason}: {step:#?}");
        }
    }
}

fn check_family(owner: &Step, block: &Block) {
    let hot = block.steps.hot + block.resolvers.hot;
    assert!(
        !(owner.parked && block.is_at_rest()),
        "nothing moves below and the parent waits: {owner:?} {block:?}"
    );
    assert!(
        !(owner.state.is_terminal() && hot > 0),
        "the parent ended and {hot} children live: {owner:?} {block:?}"
    );
    if owner.state.is_terminal() && owner.state != State::Completed {
        assert_eq!(block.unsettled(), 0, "dormant resolvers fall with the parent: {owner:?} {block:?}");
    }
}

/// What a row says brought it to its end did happen.
fn named_cause_is_true(disk: &Disk, step: &Step) -> bool {
    let block = step.block().map(|id| &disk.blocks[&id]);
    let owner = block.and_then(|b| b.owner).map(|id| disk.steps[&id].state);
    let below = step.child_block.map(|id| &disk.blocks[&id]);
    let failed_below = below.map_or(0, |b| b.steps.failed_set() + b.resolvers.failed_set());
    let cancelled_below = below.map_or(0, |b| b.steps.cancelled + b.resolvers.cancelled);
    let over = |s: State| s.is_failed() || matches!(s, State::Cancelled | State::Superseded);
    match step.reason {
        Some(Reason::ParentFailed) => matches!(owner, Some(State::Failed | State::Superseded)),
        Some(Reason::ParentSkipped) => matches!(owner, Some(State::Skipped | State::Completed)),
        Some(Reason::ParentCancelled) => owner.is_some_and(|s| over(s) && s != State::Failed),
        Some(Reason::PredecessorFailed) => {
            let before = disk.kin[&step.block().unwrap()].range(..(step.index(), StepId::of(0)));
            before.map(|(_, id)| &disk.steps[id]).any(|s| s.kind == step.kind && over(s.state))
        }
        Some(Reason::ChildrenFailed) => failed_below > 0,
        Some(Reason::ChildrenCancelled) => {
            cancelled_below > 0 || below.is_some_and(|b| b.success != Success::All)
        }
        // A resolver that slept on may be ended by hand later; a step may not.
        None if step.state == State::Completed => below
            .filter(|b| b.success == Success::All)
            .is_none_or(|b| b.steps.failed_set() + b.steps.cancelled == 0),
        _ => true,
    }
}

fn takers<'a>(world: &'a World, step: &'a Step) -> impl Iterator<Item = &'a Session> {
    world.sessions.iter().filter(|s| s.takes(&step.queue, &step.action))
}

fn context<'a>(world: &'a World, step: &Step) -> Context<'a> {
    let block = step.block().map(|id| &world.disk.blocks[&id]);
    let holder = world.sessions.iter().find(|s| Some(s.id) == step.session);
    Context {
        now: world.board.now,
        block,
        owner: block.and_then(|b| b.owner).map(|id| &world.disk.steps[&id]),
        children: step.child_block.map(|id| &world.disk.blocks[&id]),
        everywhere: world.everywhere.clone(),
        group: world.breakers[&step.dispatch_group].clone(),
        group_owned: true,
        takers: takers(world, step).count(),
        free_takers: takers(world, step).filter(|s| s.free() > 0).count(),
        held_until: holder.map(|s| s.lease_ends_at),
        pool: None,
        ahead: None,
        below: None,
        holder: None,
    }
}

fn is_true(world: &World, step: &Step, reason: &Why) -> bool {
    let now = world.board.now;
    let steps = || world.disk.steps.values();
    let hot_in = |block: Option<BlockId>| steps().filter(move |s| s.block() == block && s.state.is_hot());
    match reason {
        Why::Dormant => step.is_resolver() && step.state == State::NotRunnable,
        Why::DueLater { at, .. } | Why::PollLater { at, .. } => step.wake_at == Some(*at) && *at > now,
        Why::Predecessor { index, live } => {
            let before = hot_in(step.block()).filter(|s| s.kind == step.kind && s.index() == *index);
            *index < step.index() && before.count() == *live as usize && *live > 0
        }
        Why::Parent { parent, state } => {
            let parent = &world.disk.steps[parent];
            parent.state == *state && !state.is_terminal() && !parent.parked
        }
        Why::Children { live } => *live > 0 && hot_in(step.child_block).count() == *live as usize,
        Why::Breaker { everywhere: true, .. } => world.everywhere.is_off(now),
        Why::Breaker { .. } => world.breakers[&step.dispatch_group].is_off(now),
        Why::NoWorker { .. } => takers(world, step).count() == 0,
        Why::Busy { .. } => takers(world, step).all(|s| s.free() == 0),
        Why::Queued { .. } => outbox::is_queued(step),
        Why::Held { session, .. } => world.sessions.iter().any(|s| s.id == *session),
        Why::Next { .. } => world.board.windows.holds(step),
        // A settled world has no block that is still being settled, all groups have an owner, and there are no workflows.
        Why::Closing
        | Why::NoOwner { .. }
        | Why::PoolFull { .. }
        | Why::PoolRate { .. }
        | Why::NoPool { .. }
        | Why::GroupPaused { .. }
        | Why::GroupBlocked { .. }
        | Why::InLine { .. }
        | Why::Items { .. }
        | Why::Below { .. }
        | Why::WorkflowHeld { .. } => false,
    }
}
