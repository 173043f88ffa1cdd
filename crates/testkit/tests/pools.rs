//! Pools: as many steps of one run as may, as many start as its rate allows, and nobody else waits for it.
#![allow(clippy::unwrap_used)]

use engine::Removal;
use model::{Claim, NewStep, Outcome, Pool, StepId};
use rules::settle::Mode;
use serde_json::{Value, json};
use std::time::Duration;
use stepfast_testkit::Stage;
use store::Asked;

async fn set(stage: &Stage, name: &str, concurrency: Option<u32>, rate: Option<&str>) {
    let rate = rate.map(|text| text.parse().unwrap());
    let pool = Pool { concurrency, rate, ..Pool::new(name) };
    stage.engine.put_pool(pool, "test".into()).await.unwrap();
}

fn many(action: &str, pool: Option<&str>, n: usize) -> Value {
    (0..n).map(|_| json!({"action": action, "pool": pool})).collect()
}

async fn handed(stage: &mut Stage) -> Vec<Claim> {
    stage.decide(Mode::FixedPoint).await;
    stage.handed()
}

async fn end(stage: &Stage, claims: &[Claim]) {
    for claim in claims {
        let done = Outcome::Complete { response: None };
        stage.report(stage.session.id, claim.step, claim.attempt, done).await;
    }
}

fn used(stage: &Stage, name: &str) -> usize {
    stage.browse().pools().unwrap().iter().find(|pool| &*pool.pool.name == name).unwrap().used
}

fn why(stage: &Stage, id: StepId) -> String {
    let browse = stage.browse();
    let around = browse.circumstances(stage.clock_now()).unwrap();
    let why = browse.why(&stage.step(id), &around).unwrap();
    why.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn as_many_of_a_pool_run_as_may() {
    let mut stage = Stage::new().await;
    set(&stage, "card", Some(2), None).await;
    let ids = stage.create(many("hold", Some("card"), 5)).await;
    stage.create(many("hold", None, 1)).await;
    let first = handed(&mut stage).await;
    assert_eq!((first.len(), used(&stage, "card")), (3, 2));
    let waiting = ids.iter().find(|id| first.iter().all(|claim| claim.step != **id)).unwrap();
    assert_eq!(why(&stage, *waiting), "its pool `card` is full: 2 of 2 run");
    assert!(handed(&mut stage).await.is_empty());
    let pooled: Vec<Claim> = first.into_iter().filter(|claim| ids.contains(&claim.step)).collect();
    end(&stage, &pooled[..1]).await;
    let next = handed(&mut stage).await;
    assert_eq!((next.len(), used(&stage, "card")), (1, 2));
    end(&stage, &pooled[1..]).await;
    end(&stage, &next).await;
    assert_eq!(handed(&mut stage).await.len(), 2);
}

#[tokio::test]
async fn a_crash_gives_slots_back_and_no_more() {
    let mut stage = Stage::new().await;
    set(&stage, "card", Some(3), None).await;
    stage.create(many("hold", Some("card"), 7)).await;
    assert_eq!(handed(&mut stage).await.len(), 3);
    for _ in 0..2 {
        stage.crash().await;
        let claims = handed(&mut stage).await;
        assert_eq!((claims.len(), used(&stage, "card")), (3, 3));
    }
}

#[tokio::test]
async fn a_full_pool_holds_up_nobody_else() {
    let mut stage = Stage::new().await;
    set(&stage, "card", Some(1), None).await;
    for _ in 0..3 {
        stage.create(many("hold", Some("card"), 1_000)).await;
    }
    let behind = stage.create(many("ok", None, 20)).await;
    // Once from memory, and once with everything on disk.
    for half in behind.chunks(10) {
        stage.crash().await;
        stage.tick(Mode::FixedPoint).await;
        stage.tick(Mode::FixedPoint).await;
        for id in half {
            assert_eq!(stage.step(*id).step.state, model::State::Completed);
        }
    }
    assert_eq!(used(&stage, "card"), 1);
}

#[tokio::test]
async fn starts_are_spread_over_time() {
    let mut stage = Stage::new().await;
    set(&stage, "sms", None, Some("2/s")).await;
    stage.create(many("ok", Some("sms"), 6)).await;
    let mut starts = Vec::new();
    for _ in 0..6 {
        starts.push(stage.tick(Mode::FixedPoint).await.dispatched);
        stage.advance(Duration::from_millis(250)).await;
    }
    assert_eq!(starts, [1, 0, 1, 0, 1, 0]);
    // A slower rate counts from the next start on.
    set(&stage, "sms", None, Some("1/h")).await;
    assert_eq!(stage.tick(Mode::FixedPoint).await.dispatched, 1);
    stage.advance(Duration::from_secs(60)).await;
    assert_eq!(stage.tick(Mode::FixedPoint).await.dispatched, 0);
}

#[tokio::test]
async fn a_rate_is_kept_across_a_crash() {
    let mut stage = Stage::new().await;
    set(&stage, "sms", None, Some("1/h")).await;
    let ids = stage.create(many("ok", Some("sms"), 2)).await;
    assert_eq!(stage.tick(Mode::FixedPoint).await.dispatched, 1);
    stage.crash().await;
    assert_eq!(stage.tick(Mode::FixedPoint).await.dispatched, 0);
    let waiting = ids.iter().find(|id| stage.step(**id).step.state == model::State::Pending).unwrap();
    assert_eq!(why(&stage, *waiting), "its pool `sms` lets the next one start later");
    stage.advance(Duration::from_secs(3_600)).await;
    assert_eq!(stage.tick(Mode::FixedPoint).await.dispatched, 1);
}

#[tokio::test]
async fn a_parent_that_waits_for_its_children_has_no_slot() {
    let mut stage = Stage::new().await;
    set(&stage, "card", Some(1), None).await;
    let child = json!({"action": "ok", "pool": "card"});
    stage.create(json!([{"action": "ok", "pool": "card", "children": [child, child]}])).await;
    stage.settle().await;
    assert_eq!(stage.states(), "CCC");
    assert_eq!(used(&stage, "card"), 0);
}

#[tokio::test]
async fn limits_change_while_work_waits() {
    let mut stage = Stage::new().await;
    set(&stage, "card", Some(0), None).await;
    let ids = stage.create(many("hold", Some("card"), 9)).await;
    assert!(handed(&mut stage).await.is_empty());
    assert_eq!(why(&stage, ids[0]), "its pool `card` is full: 0 of 0 run");
    set(&stage, "card", Some(4), None).await;
    let claims = handed(&mut stage).await;
    assert_eq!(claims.len(), 4);
    // What runs goes on; nothing starts until there is room under the new limit.
    set(&stage, "card", Some(2), None).await;
    end(&stage, &claims[..2]).await;
    assert!(handed(&mut stage).await.is_empty());
    end(&stage, &claims[2..3]).await;
    assert_eq!(handed(&mut stage).await.len(), 1);
    let told: Vec<_> = stage.browse().audit(10).unwrap().into_iter().map(|(_, e)| e.after).collect();
    assert!(told.contains(&Some("4 at once".into())), "{told:?}");
}

#[tokio::test]
async fn a_pool_is_made_before_it_is_named_and_goes_when_nothing_uses_it() {
    let mut stage = Stage::new().await;
    let new = NewStep { pool: Some("card".into()), ..NewStep::of("hold") };
    let refused = stage.engine.create(vec![new]).await.unwrap_err().to_string();
    assert!(refused.contains("steps[0].pool: `card` is not a pool; make it first"), "{refused}");
    let refused = stage.engine.put_pool(Pool::new("card"), "test".into()).await.unwrap_err().to_string();
    assert!(refused.contains("the pool limits nothing"), "{refused}");
    set(&stage, "card", Some(1), None).await;
    stage.create(many("hold", Some("card"), 2)).await;
    let remove =
        async |stage: &Stage| stage.engine.remove_pool("card".into(), None, Asked::by("test")).await.unwrap();
    assert_eq!(remove(&stage).await, Removal::InUse, "it is waited for");
    for _ in 0..2 {
        let claims = handed(&mut stage).await;
        assert_eq!(remove(&stage).await, Removal::InUse, "it is used");
        end(&stage, &claims).await;
    }
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(remove(&stage).await, Removal::Removed);
    assert_eq!(remove(&stage).await, Removal::Unknown);
}

#[tokio::test]
async fn thousands_of_children_share_a_small_pool() {
    let mut stage = Stage::new().await;
    set(&stage, "card", Some(400), None).await;
    let child = json!({"action": "quiet", "pool": "card"});
    let children: Vec<Value> = (0..5_000).map(|_| child.clone()).collect();
    let parent = stage.create(json!([{"action": "ok", "children": children}])).await[0];
    stage.tick(Mode::FixedPoint).await;
    stage.tick(Mode::FixedPoint).await;
    assert_eq!(used(&stage, "card"), 0, "what was handed out has ended");
    stage.crash().await;
    for _ in 0..40 {
        stage.tick(Mode::FixedPoint).await;
    }
    assert_eq!(stage.step(parent).step.state, model::State::Completed);
}

/// Found by review: high priority waited behind a hundred normal steps of its pool.
#[tokio::test]
async fn high_priority_goes_first_in_a_full_pool_too() {
    let mut stage = Stage::new().await;
    set(&stage, "card", Some(1), None).await;
    let normal: Value =
        (0..300).map(|_| json!({"action": "hold", "pool": "card", "dispatch_group": "alpha"})).collect();
    stage.create(normal).await;
    let first = handed(&mut stage).await;
    let high = json!([{"action": "hold", "pool": "card", "priority": "high", "queue": "default", "dispatch_group": "alpha"}]);
    let high = stage.create(high).await[0];
    end(&stage, &first).await;
    let next: Vec<StepId> = handed(&mut stage).await.iter().map(|claim| claim.step).collect();
    assert_eq!(next, [high]);
}

/// Found by review: what was due in a full pool was read again and again, or not at all.
#[tokio::test]
async fn thousands_of_due_steps_of_a_full_pool_wait_and_run() {
    let mut stage = Stage::new().await;
    set(&stage, "card", Some(0), None).await;
    let due: Value = (0..3_000)
        .map(|_| json!({"action": "quiet", "pool": "card", "delay_ms": 1_000, "dispatch_group": "alpha"}))
        .collect();
    stage.create(due).await;
    let other =
        stage.create(json!([{"action": "quiet", "delay_ms": 2_000, "dispatch_group": "alpha"}])).await[0];
    stage.advance(Duration::from_secs(3)).await;
    for _ in 0..10 {
        stage.tick(Mode::FixedPoint).await;
    }
    assert_eq!(stage.step(other).step.state, model::State::Completed, "it went past them");
    set(&stage, "card", Some(1_000), None).await;
    let mut ran = 0;
    for _ in 0..60 {
        ran += stage.tick(Mode::FixedPoint).await.dispatched;
    }
    assert_eq!(ran, 3_000);
}

/// Found by review: children without a pool waited behind siblings of a full one.
#[tokio::test]
async fn siblings_go_past_children_of_a_full_pool() {
    let mut stage = Stage::new().await;
    set(&stage, "card", Some(0), None).await;
    let child = |pool: Option<&str>| json!({"action": "quiet", "pool": pool});
    let children: Vec<Value> =
        (0..4_000).map(|_| child(Some("card"))).chain((0..50).map(|_| child(None))).collect();
    stage.create(json!([{"action": "ok", "children": children}])).await;
    stage.tick(Mode::FixedPoint).await;
    stage.crash().await;
    let mut ran = 0;
    for _ in 0..30 {
        ran += stage.tick(Mode::FixedPoint).await.dispatched;
    }
    assert_eq!(ran, 50);
}

/// Found by review: a pool that was removed could still be named.
#[tokio::test]
async fn a_removed_pool_cannot_be_named() {
    let stage = Stage::new().await;
    set(&stage, "card", Some(1), None).await;
    stage.create(many("hold", None, 1)).await;
    assert_eq!(
        stage.engine.remove_pool("card".into(), None, Asked::by("test")).await.unwrap(),
        Removal::Removed
    );
    let new = NewStep { pool: Some("card".into()), ..NewStep::of("hold") };
    let refused = stage.engine.create(vec![new]).await.unwrap_err().to_string();
    assert!(refused.contains("`card` is not a pool"), "{refused}");
}
