//! What is written about what is stuck names what was seen of it: whoever comes late changes nothing.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod world;

use model::{AlertEvent, AlertMoment, NodeId, Severity, StepId, Timestamp, limits};
use std::time::Duration;
use stepfast_store::stuck::{asks, look_row};
use stepfast_store::{AlertWrite, AskWrite, Batch, LookWrite, Store, StoreError, StuckAsk, alerts};
use world::World;

fn is_lost(outcome: stepfast_store::Result<()>) -> bool {
    matches!(outcome, Err(StoreError::Lost { .. }))
}

fn remedy(at: Timestamp) -> AlertEvent {
    AlertEvent {
        entity: "payment".into(),
        entity_id: "7".into(),
        reason: "late".into(),
        at,
        moment: AlertMoment::Remedy,
        who: "stuck rule late".into(),
        text: "retry".into(),
        step: None,
    }
}

fn begins(node: NodeId) -> impl FnOnce(&mut Batch, Timestamp) {
    move |batch, now| batch.looks.push(LookWrite::Begin { node, ends_at: now + limits::STUCK_LOOK_LEASE })
}

/// What follows from a look: a remedy, and the right to look is given back.
fn follows(node: NodeId, version: u64) -> impl FnOnce(&mut Batch, Timestamp) {
    move |batch, now| {
        batch.alert_events.push(remedy(now));
        batch.looks.push(LookWrite::End { node, version, rounds: Some("{\"a\":1}".into()) });
    }
}

#[test]
fn two_looks_that_saw_the_same_remedies_do_not_both_add_one() {
    let mut world = World::new(false);
    let me = world.node();
    world.try_commit(begins(me)).unwrap();
    let seen = look_row(world.store.reader()).unwrap();
    assert_eq!(seen.node, Some(me));
    world.try_commit(follows(me, seen.version)).unwrap();
    assert!(is_lost(world.try_commit(follows(me, seen.version))), "somebody has looked since");
    let remedies = alerts::remedies(world.store.reader(), Timestamp(0)).unwrap();
    assert_eq!(remedies.len(), 1);
    assert_eq!(look_row(world.store.reader()).unwrap().rounds.written(), "{\"a\":1}");
}

#[test]
fn one_node_looks_at_a_time_and_one_that_is_gone_or_late_is_not_waited_for() {
    let mut world = World::new(false);
    let (me, other) = (world.node(), NodeId::of(9));
    let holder = |world: &World| look_row(world.store.reader()).unwrap().node;
    world.try_commit(begins(me)).unwrap();
    world.try_commit(begins(other)).unwrap();
    assert_eq!(holder(&world), Some(me), "asked in vain, and the turn is kept");
    world.clock.advance(limits::STUCK_LOOK_LEASE);
    world.try_commit(begins(other)).unwrap();
    assert_eq!(holder(&world), Some(other), "its time was over");
    world.try_commit(begins(me)).unwrap();
    assert_eq!(holder(&world), Some(me), "nobody knows the other node any more");
}

#[test]
fn an_alert_that_somebody_changed_is_not_closed_over_that() {
    let mut world = World::new(false);
    let (entity, entity_id, reason) = ("dispatch_group", "alpha".to_string(), "odd");
    let (severity, message) = (Severity::High, "look".to_string());
    let open = AlertWrite::Open { entity, entity_id, reason, severity, message };
    world.try_commit(|batch, _| batch.alerts.push(open)).unwrap();
    let seen = alerts::open_one(world.store.reader(), entity, "alpha", reason).unwrap().unwrap();
    let marked = seen.clone();
    world.try_commit(|batch, _| batch.alerts.push(AlertWrite::Mark(Box::new(marked)))).unwrap();
    let is_open = |world: &World| {
        alerts::open_one(world.store.reader(), entity, "alpha", reason).unwrap().map(|alert| alert.version)
    };
    let close = |version: u64| AlertWrite::Close {
        id: seen.id,
        version,
        by: "observed".into(),
        auto_resolved: false,
    };
    assert!(is_lost(world.try_commit(|batch, _| batch.alerts.push(close(seen.version)))));
    let back = |version: u64| AlertWrite::TakeBack { id: seen.id, version, by: "observed".into() };
    world.try_commit(|batch, _| batch.alerts.push(back(seen.version))).unwrap();
    assert_eq!(is_open(&world), Some(seen.version + 1), "neither has closed it");
    world.try_commit(|batch, _| batch.alerts.push(back(seen.version + 1))).unwrap();
    assert_eq!(is_open(&world), None);
}

#[test]
fn an_action_is_asked_by_one_and_heard_once() {
    let mut world = World::new(false);
    let ask = |n: u64| StuckAsk {
        rule: "bonus".into(),
        step: StepId::of(n),
        asked_at: Timestamp(0) + Duration::from_secs(n),
        heard_at: None,
        fault: None,
    };
    let asked = |n: u64, before: Option<u64>| {
        let write = AskWrite::Asked { ask: ask(n), before: before.map(StepId::of) };
        move |batch: &mut Batch, _: Timestamp| batch.stuck_asks.push(write)
    };
    let heard = |n: u64| {
        let write = AskWrite::Heard(StuckAsk { heard_at: Some(Timestamp(9)), ..ask(n) });
        move |batch: &mut Batch, _: Timestamp| batch.stuck_asks.push(write)
    };
    let on_record = |world: &World| {
        let all = asks(world.store.reader()).unwrap();
        (all[0].step, all[0].heard_at.is_some())
    };
    world.try_commit(asked(1, None)).unwrap();
    assert!(is_lost(world.try_commit(asked(2, None))), "somebody has asked");
    world.try_commit(heard(2)).unwrap();
    assert_eq!(on_record(&world), (StepId::of(1), false), "that is not the answer that is awaited");
    world.try_commit(heard(1)).unwrap();
    assert_eq!(on_record(&world), (StepId::of(1), true));
    assert!(is_lost(world.try_commit(asked(3, Some(2)))));
    world.try_commit(asked(3, Some(1))).unwrap();
    assert_eq!(on_record(&world), (StepId::of(3), false), "asked again, and not heard yet");
}
