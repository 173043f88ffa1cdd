//! Figures: what is counted happened, waits begin when a step could start, and what is open is counted without reading it.
#![allow(clippy::unwrap_used)]

use engine::WorkflowVerb as V;
use model::{Decision, WorkflowState};
use prometheus::core::Collector;
use prometheus::proto::{Metric, MetricFamily};
use rules::settle::Mode;
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::{Stage, outcome_of};
use store::Database;

fn metric(stage: &Stage, name: &str) -> Metric {
    let collectors: Vec<Box<dyn Collector>> = stage.engine.meters().collectors();
    let mut families = collectors.iter().flat_map(|one| one.collect());
    let found: MetricFamily = families.find(|family| family.name() == name).unwrap();
    found.get_metric()[0].clone()
}

fn counter(stage: &Stage, name: &str) -> f64 {
    metric(stage, name).get_counter().get_value()
}

/// How many waits were told, and how many seconds they are together.
fn waits(stage: &Stage) -> (u64, f64) {
    let told = metric(stage, "stepfast_step_wait_seconds");
    (told.get_histogram().get_sample_count(), told.get_histogram().get_sample_sum())
}

async fn sql(stage: &Stage, sqlite: &str, postgres: &str) {
    match stage.database() {
        Database::Sqlite(path) => rusqlite::Connection::open(path).unwrap().execute_batch(sqlite).unwrap(),
        Database::Postgres(url) => {
            use store::postgres::tokio_postgres::{NoTls, connect};
            let (client, connection) = connect(&url, NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute(postgres).await.unwrap();
        }
    }
}

/// A turn that the database refused was counted as if it had been stored, and so was the turn that took its place.
#[tokio::test]
async fn what_was_refused_is_not_counted() {
    let mut stage = Stage::new().await;
    let poison = "create trigger poison before insert on steps begin select raise(abort, 'refused'); end;";
    sql(&stage, poison, "alter table stepfast.steps add constraint poison check (action = 'x')").await;
    let wanted = || vec![model::NewStep::of("ok")];
    for _ in 0..3 {
        stage.engine.create(wanted()).await.expect_err("the database refuses it");
    }
    assert_eq!(counter(&stage, "stepfast_steps_created_total"), 0.0);
    sql(&stage, "drop trigger poison", "alter table stepfast.steps drop constraint poison").await;
    let mut again = tokio::time::interval(Duration::from_millis(20));
    while stage.engine.create(wanted()).await.is_err() {
        again.tick().await;
    }
    stage.settle().await;
    let counted = ["created", "started"].map(|name| counter(&stage, &format!("stepfast_steps_{name}_total")));
    assert_eq!(counted, [1.0, 1.0]);
    assert_eq!(waits(&stage).0, 1);
}

/// The waits of children began when their tree was made, however long the steps before them ran.
#[tokio::test]
async fn a_child_waits_from_when_its_turn_has_come() {
    let mut stage = Stage::new().await;
    let children = json!([{"action": "hold", "step_key": "first"}, {"action": "ok", "index": 2}]);
    stage.create(json!([{"action": "ok", "children": children}])).await;
    stage.settle().await;
    stage.advance(Duration::from_secs(600)).await;
    let held = stage.by_key("first").step;
    stage.report(stage.session.id, held.id, held.attempt, outcome_of("ok").unwrap()).await;
    stage.settle().await;
    let (n, seconds) = waits(&stage);
    assert_eq!(n, 3);
    assert!(seconds < 1.0, "{seconds} s of waiting");
}

/// One that came back waits from then on, and one that stands in line from when the one before it is gone.
#[tokio::test]
async fn what_came_back_and_what_stands_in_line_wait_from_then_on() {
    let mut stage = Stage::new().await;
    let first = json!({"action": "hold", "step_key": "first", "message_group": "m", "mode": "next_on_error"});
    let next = json!({"action": "hold", "step_key": "next", "message_group": "m", "mode": "next_on_error"});
    stage.create(json!([first, next, {"action": "hold", "step_key": "again", "retry_delay_ms": 0}])).await;
    stage.settle().await;
    assert_eq!(waits(&stage).0, 2, "one stands behind another");
    stage.advance(Duration::from_secs(600)).await;
    for (key, action) in [("first", "ok"), ("again", "retry")] {
        let held = stage.by_key(key).step;
        stage.report(stage.session.id, held.id, held.attempt, outcome_of(action).unwrap()).await;
    }
    stage.advance(Duration::from_secs(3)).await;
    stage.settle().await;
    let (n, seconds) = waits(&stage);
    assert_eq!(n, 4, "next, and again for the second time");
    assert!(seconds < 10.0, "{seconds} s of waiting");
}

/// Only the first thousand rows in the order of groups and queues were looked at.
#[tokio::test]
async fn the_oldest_that_waits_is_found_behind_any_number_of_others() {
    let stage = Stage::new().await;
    let nobody = |group: &str| json!({"action": "nobody", "dispatch_group": group});
    let old = stage.create(json!([nobody("kappa")])).await[0];
    stage.advance(Duration::from_secs(500)).await;
    stage.create(json!(vec![nobody("alpha"); 1_100])).await;
    let totals = stage.browse().totals().unwrap();
    assert_eq!(totals.oldest_pending, Some(stage.step(old).step.created_at));
    assert_eq!(stage.browse().oldest_due(stage.clock_now()).unwrap(), None);
    let late = json!({"action": "nobody", "delay_ms": 60_000});
    let late = stage.step(stage.create(json!([late])).await[0]).step.wake_at;
    stage.advance(Duration::from_secs(61)).await;
    assert_eq!(stage.browse().oldest_due(stage.clock_now()).unwrap(), late, "since it was due");
}

/// Those that somebody had resolved were counted for ever, and all open rows were read for it.
#[tokio::test]
async fn workflows_are_counted_while_something_may_happen_to_them() {
    let mut stage = Stage::new().await;
    let counts = |stage: &Stage| {
        let counts = stage.browse().workflow_counts(10).unwrap();
        counts.into_iter().map(|(key, state, n)| format!("{key} {state} {n}")).collect::<Vec<_>>().join(", ")
    };
    stage.define("workflow: bad\nversion: 1.0.0\nsteps:\n  - { key: a, action: fail }\n").await;
    stage.define("workflow: long\nversion: 1.0.0\nsteps:\n  - { key: a, action: hold }\n").await;
    let bad = [stage.start("bad", json!({})).await, stage.start("bad", json!({})).await];
    let long = [stage.start("long", json!({})).await, stage.start("long", json!({})).await];
    stage.settle().await;
    assert_eq!(counts(&stage), "bad failed 2, long running 2");
    stage.operate_workflow(bad[0], V::Resolve(Decision::MarkResolved)).await.unwrap();
    stage.operate_workflow(long[0], V::Pause).await.unwrap();
    assert_eq!(counts(&stage), "bad failed 1, long paused 1, long running 1");
    stage.crash().await;
    stage.operate_workflow(bad[1], V::Resolve(Decision::RETRY)).await.unwrap();
    stage.operate_workflow(long[0], V::Cancel).await.unwrap();
    assert!(counts(&stage).starts_with("bad running 1"), "{}", counts(&stage));
    stage.settle().await;
    assert_eq!(counts(&stage), "bad failed 1, long running 1");
    assert_eq!(stage.workflow(long[0]).state, WorkflowState::Cancelled);
    stage.decide(Mode::FixedPoint).await;
    stage.check();
}
