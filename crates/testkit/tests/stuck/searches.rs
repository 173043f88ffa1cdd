//! What is found among much that waits by design, and by which clock.

use super::*;
use model::{Breaker, Outcome, StuckClock, limits};
use rules::settle::Mode;
use serde_json::{Value, json};
use stepfast_testkit::Stage;

/// More steps than one look judges, overdue and held back by a breaker; and one behind them that nobody takes.
async fn behind_many(stage: &mut Stage) -> String {
    only(stage, &["step-waiting"]).await;
    let off = Breaker { off: true, since: Some(stage.clock_now()), ..Breaker::default() };
    stage.engine.set_breaker(Some(model::DispatchGroup::new("alpha")), off, "anna").await.expect("a switch");
    let held = json!({"action": "ok", "delay_ms": 1_000, "dispatch_group": "alpha"});
    let many: Vec<Value> = std::iter::repeat_n(held, 275).collect();
    for _ in 0..4 {
        stage.create(json!(many)).await;
    }
    let lost = json!({"action": "nobody runs this", "delay_ms": 2_000, "dispatch_group": "beta"});
    let lost = stage.create(json!([lost])).await[0];
    stage.advance(70 * MINUTE).await;
    stage.decide(Mode::FixedPoint).await;
    lost.to_string()
}

#[tokio::test]
async fn a_page_of_what_waits_by_design_hides_nothing_for_ever() {
    let mut stage = Stage::new().await;
    let lost = behind_many(&mut stage).await;
    const { assert!(4 * 275 > limits::STUCK_PAGE, "more than one look judges") };
    assert_eq!(look(&stage, Remedies::Leave).await.opened, 0, "the first page waits by design");
    assert_eq!(look(&stage, Remedies::Leave).await.opened, 1, "and the next look goes on behind it");
    assert_eq!(open(&stage)[0].entity_id, lost);
    look(&stage, Remedies::Leave).await;
    assert_eq!(open(&stage).len(), 1, "it is not closed because a look was elsewhere");
}

#[tokio::test]
async fn a_search_goes_on_after_a_restart() {
    let mut stage = Stage::new().await;
    behind_many(&mut stage).await;
    look(&stage, Remedies::Leave).await;
    stage.crash().await;
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(
        would_find(&stage, stage.clock_now()),
        ["step-waiting"],
        "a dry run looks where the next look does"
    );
    assert_eq!(look(&stage, Remedies::Leave).await.opened, 1);
}

#[tokio::test]
async fn a_resolver_that_nobody_runs_is_stuck_since_it_was_called() {
    let mut stage = Stage::new().await;
    only(&stage, &["step-waiting"]).await;
    let resolver = json!({"action": "nobody runs this", "kind": "resolve-exception", "step_key": "mend"});
    let children = json!([{"action": "hold", "step_key": "work"}, resolver]);
    stage.create(json!([{"action": "ok", "children": children}])).await;
    stage.settle().await;
    stage.advance(2 * HOUR).await;
    let failure = model::Failure { message: "no".into(), trace: None };
    let (id, outcome) = (stage.by_key("work").step.id, Outcome::Fail { failure, notify: false });
    stage.report(stage.session.id, id, 1, outcome).await;
    stage.settle().await;
    assert_eq!(stage.by_key("mend").step.state, model::State::Pending);
    stage.advance(59 * MINUTE).await;
    stage.settle().await;
    assert_eq!(would_find(&stage, stage.clock_now()), Vec::<String>::new(), "it waits for less than an hour");
    stage.advance(2 * MINUTE).await;
    stage.settle().await;
    look(&stage, Remedies::Leave).await;
    assert_eq!(open(&stage)[0].message, "step mend (nobody runs this) has been pending for 1 h 1 min");
}

#[tokio::test]
async fn a_step_that_was_put_back_is_pending_since_then() {
    let mut stage = Stage::new().await;
    only(&stage, &["step-waiting"]).await;
    let id = stage.create(json!([{"action": "hold"}])).await[0];
    stage.settle().await;
    stage.advance(2 * HOUR).await;
    // Its worker falls silent.
    stage.clock.advance(limits::SESSION_LEASE + MINUTE);
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(stage.step(id).step.state, model::State::Pending);
    stage.clock.advance(59 * MINUTE);
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(would_find(&stage, stage.clock_now()), Vec::<String>::new());
    stage.clock.advance(2 * MINUTE);
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(would_find(&stage, stage.clock_now()), ["step-waiting"]);
}

#[tokio::test]
async fn a_rule_about_when_a_workflow_was_made_finds_one_that_moves() {
    let mut stage = Stage::new().await;
    only(&stage, &[]).await;
    let clock = StuckClock::Created;
    put(&stage, StuckRule { older_than: HOUR, clock, ..rule("workflow-still", "too-long") }).await;
    let yaml = "
workflow: slow
version: 1.0.0
steps:
  - { key: a, wait: 50m }
  - { key: b, action: hold }
";
    let id = stage.run(yaml, json!({})).await;
    stage.advance(51 * MINUTE).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "running: a C, b R");
    assert_eq!(would_find(&stage, stage.clock_now()), Vec::<String>::new());
    stage.advance(10 * MINUTE).await;
    stage.settle().await;
    assert_eq!(would_find(&stage, stage.clock_now()), ["too-long"], "it moved ten minutes ago");
}
