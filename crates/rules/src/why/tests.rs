//! Every reason for which a step may wait, found from what there is and told in words.

use super::*;
use crate::check::{blank, parse, running, step};
use model::{Block, BlockId, DispatchGroup, DispatchMode, InWorkflow, Member, PausedBy, Place, Pool, Rate};
use std::time::Duration;

const NOW: Timestamp = Timestamp(10_000_000);

/// Nothing holds anybody up.
fn free() -> Context<'static> {
    Context { now: NOW, group_owned: true, takers: 1, free_takers: 1, ..Context::default() }
}

fn told(step: &Step, cx: &Context) -> String {
    why(step, cx).iter().map(Why::to_string).collect::<Vec<_>>().join("; ")
}

fn waits(line: &str, cx: &Context) -> String {
    told(&step(line, 1), cx)
}

fn in_workflow(step: Step) -> Step {
    let workflow = WorkflowId::from_bytes([7; 16]);
    Step { in_workflow: Some(InWorkflow { workflow, def: 0, run: 1, item: None }), ..step }
}

#[test]
fn what_can_start_starts_and_what_ended_waits_for_nothing() {
    assert_eq!(waits("a", &free()), "it can start in the next turn");
    assert_eq!(waits("a after=5", &free()), "it can start in the next turn", "its time has come");
    assert_eq!(waits("a Completed", &free()), "");
    assert_eq!(waits("a resolver", &free()), "it is a resolver and sleeps until a step of its block fails");
}

#[test]
fn what_is_due_later_says_whether_it_was_throttled() {
    assert_eq!(waits("a after=60", &free()), "it is due later");
    let throttled = Step { throttled: true, ..step("a after=60", 1) };
    assert_eq!(told(&throttled, &free()), "it was throttled and is due later");
    assert_eq!(waits("a Polling after=60", &free()), "its poll 1 is due later");
    assert_eq!(waits("a Polling", &free()), "", "one that polls and has no time is lost");
    let wait = |after: &str| in_workflow(Step { action: WAIT_ACTION.into(), ..step(after, 1) });
    assert_eq!(told(&wait("a after=60"), &Context { takers: 0, ..free() }), "it is due later");
    assert_eq!(told(&wait("a"), &free()), "", "a wait without an end is lost");
}

#[test]
fn switches_owners_and_workers_are_named_together() {
    let off = |by: Option<&str>, why: Option<&str>| Breaker {
        off: true,
        by: by.map(Into::into),
        why: why.map(Into::into),
        ..Breaker::default()
    };
    let cx = Context { everywhere: off(Some("ann"), Some("upgrade")), group: off(None, None), ..free() };
    let both = "the breaker is off everywhere, switched off by ann (upgrade); \
                the breaker is off for its dispatch group";
    assert_eq!(waits("a", &cx), both);
    let cx = Context { group_owned: false, takers: 0, ..free() };
    let none =
        "no node decides for dispatch group `alpha`; no worker offers action `noop` on queue `default`";
    assert_eq!(waits("a", &cx), none);
    let busy = Context { takers: 3, free_takers: 0, ..free() };
    assert_eq!(waits("a", &busy), "all 3 worker sessions that could take it are busy");
}

#[test]
fn a_pool_is_full_slow_missing_or_open() {
    let rate = Rate { starts: 1, per: Duration::from_secs(60), burst: 1 };
    let limited = |concurrency, rate| Pool { concurrency, rate, ..Pool::new("card") };
    let used = |pool, used, full_until| PoolUse { pool, used, full_until: Timestamp(full_until) };
    let of = |pool: &PoolUse| waits("a pool=card", &Context { pool: Some(pool), ..free() });
    assert_eq!(of(&used(limited(Some(2), None), 2, 0)), "its pool `card` is full: 2 of 2 run");
    assert_eq!(of(&used(limited(Some(2), None), 1, 0)), "it can start in the next turn");
    let slow = used(limited(None, Some(rate)), 0, NOW.0 + 60_000_000);
    assert_eq!(of(&slow), "its pool `card` lets the next one start later");
    let missing = "there is no pool `card`; make it with `stepfast pools set card`";
    assert_eq!(waits("a pool=card", &free()), missing);
}

#[test]
fn a_line_says_who_goes_first() {
    let mode = DispatchMode::BlockOnError;
    let member = Member { group: "g".into(), mode, sequence: 99, place: StepId::of(1), joined: true };
    let a = Step { member: Some(member), ..blank(StepId::of(1)) };
    let behind = |ahead| told(&a, &Context { ahead: Some(ahead), ..free() });
    let id = StepId::of(7);
    assert_eq!(behind(Ahead::Step(id)), format!("step {id} of its message group `g` goes first"));
    assert_eq!(
        behind(Ahead::Failed(id)),
        format!(
            "its message group `g` is blocked by step {id}, which failed; see `stepfast message-groups show g`"
        )
    );
    let paused = |by: Option<&str>, why: Option<&str>| {
        behind(Ahead::Paused { by: by.map(Into::into), why: why.map(Into::into) })
    };
    assert_eq!(paused(Some("ann"), Some("audit")), "its message group `g` was paused by ann (audit)");
    assert_eq!(paused(None, None), "its message group `g` was paused by somebody");
    assert_eq!(told(&a, &free()), "it can start in the next turn");
}

#[test]
fn what_somebody_has_says_who() {
    let held = Context { held_until: Some(Timestamp(NOW.0 + 1)), ..free() };
    let session = SessionId::of(1);
    assert_eq!(told(&running("a"), &held), format!("session {session} on an unknown host has it"));
    let at = Step { host: Some("box".into()), ..running("a") };
    assert_eq!(told(&at, &held), format!("session {session} on box has it"));
    assert_eq!(told(&running("a"), &free()), "", "its lease is gone and somebody should take it back");
    let unowned = Context { group_owned: false, ..free() };
    assert_eq!(told(&running("a"), &unowned), "no node decides for dispatch group `alpha`");
    let queued = Step { state: State::Dispatched, session: Some(SessionId::OUTBOX), ..step("a", 1) };
    assert_eq!(told(&queued, &free()), "its message is in the queue, and nobody was sent for it yet");
}

#[test]
fn a_parent_waits_for_what_is_below_it() {
    let parked = || Step { child_block: Some(BlockId::of(9)), ..step("a Running parked", 1) };
    let block = |change: fn(&mut Block)| {
        let mut block = Block { touched: false, ..Block::new(BlockId::of(9), DispatchGroup::new("alpha")) };
        change(&mut block);
        block
    };
    let over = |block: &Block| told(&parked(), &Context { children: Some(block), ..free() });
    assert_eq!(over(&block(|b| b.steps.hot = 2)), "it waits for 2 live steps of its child block");
    assert_eq!(over(&block(|b| b.to_come = 5)), "5 of its items are still to be made");
    assert_eq!(over(&block(|b| b.touched = true)), "its block is being settled");
    assert_eq!(over(&block(|b| b.held = true)), "its workflow is held; see `stepfast show`");
    assert_eq!(over(&block(|_| {})), "", "nothing lives below it and it goes on: that is lost work");
    let below = |state| {
        let workflow = WorkflowId::from_bytes([7; 16]);
        told(&step("a Running parked", 1), &Context { below: Some((workflow, state)), ..free() })
    };
    let workflow = WorkflowId::from_bytes([7; 16]);
    assert_eq!(below(WorkflowState::Running), format!("it waits for workflow {workflow}, which is running"));
    assert_eq!(below(WorkflowState::Cancelled), "", "it has ended, and nobody went on");
}

#[test]
fn a_held_workflow_holds_its_steps() {
    let held = in_workflow(Step { reason: Some(Reason::WorkflowHeld), ..step("a after=99", 1) });
    let workflow = WorkflowId::from_bytes([7; 16]);
    assert_eq!(told(&held, &free()), format!("its workflow {workflow} is held; see `stepfast show`"));
    let block = Block { held: true, ..Block::new(BlockId::of(9), DispatchGroup::new("alpha")) };
    let cx = Context { block: Some(&block), ..free() };
    assert_eq!(waits("a", &cx), "its workflow is held; see `stepfast show`");
}

#[test]
fn a_workflow_that_holds_its_steps_says_who_and_why() {
    let held = in_workflow(Step { reason: Some(Reason::WorkflowHeld), ..step("a after=99", 1) });
    let (person, failure) = (Some(PausedBy::Person), Some(PausedBy::Failure));
    let said = |state, paused_by, by: Option<&str>, why: Option<&str>| {
        let (by, why) = (by.map(Into::into), why.map(Into::into));
        let holder = Holder { state, paused_by, by, why };
        told(&held, &Context { holder: Some(&holder), ..free() })
            .replace(&WorkflowId::from_bytes([7; 16]).to_string(), "7")
    };
    let (paused, failed) = (WorkflowState::Paused, WorkflowState::Failed);
    assert_eq!(said(paused, person, Some("ann"), Some("audit")), "its workflow 7 was paused by ann (audit)");
    assert_eq!(said(paused, person, Some("ann"), None), "its workflow 7 was paused by ann");
    assert_eq!(said(paused, person, None, Some("audit")), "its workflow 7 was paused (audit)");
    let why = Some("step `b` failed: no");
    assert_eq!(said(paused, failure, None, why), "its workflow 7 is paused: step `b` failed: no");
    assert_eq!(said(failed, None, None, why), "its workflow 7 failed: step `b` failed: no");
    assert_eq!(said(failed, None, None, None), "its workflow 7 failed");
    let long = "x".repeat(1_000);
    let end = said(failed, None, None, Some(&long));
    assert_eq!(end.len(), "its workflow 7 failed: ".len() + 300, "the rest is on the page of the workflow");
}

#[test]
fn a_step_of_a_block_waits_for_its_turn() {
    let tree = parse("top Running parked\n  a 1 Running\n  b 2\n  c 3");
    let (owner, b) = (tree.get("top"), tree.get("b"));
    let block = tree.board.block(b.place.expect("it stands in a block").block).expect("in hand").clone();
    let block = Block { touched: false, ..block };
    let at =
        |block: &Block, owner: &Step| told(b, &Context { block: Some(block), owner: Some(owner), ..free() });
    assert_eq!(at(&block, owner), "it waits for 1 step at index 1 of its block");
    let working = Step { parked: false, ..owner.clone() };
    assert_eq!(at(&block, &working), format!("its parent {} is running and has not returned", owner.id));
    assert_eq!(at(&Block { touched: true, ..block.clone() }, owner), "its block is being settled");
    let next = Block { live: vec![0, 1, 1], ..block.clone() };
    assert_eq!(at(&next, owner), "it can start in the next turn", "its turn has come, by the counts");
    let ended = Step { state: State::Completed, parked: false, ..owner.clone() };
    let nobody = Block { live: vec![0, 0, 0], current_index: 0, ..block };
    assert_eq!(at(&nobody, &ended), "it can start in the next turn", "no reason is made up for it");
    let placed = Step { place: Some(Place { block: BlockId::of(99), index: 1 }), ..blank(StepId::of(5)) };
    assert_eq!(told(&placed, &free()), "it can start in the next turn", "a block that nobody has seen");
}
