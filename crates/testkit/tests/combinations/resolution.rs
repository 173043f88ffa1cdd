//! Failure resolution with each of the others.

use super::play::{STRATEGIES, pass};
use model::{Decision, WorkflowState};
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::{Stage, from_step, undo_all};

const ORDER: &str = "
workflow: order
version: 1.0.0
steps:
  - { key: a, action: ok, compensation: { action: ok } }
  - { key: b, action: ok, compensation: { action: ok } }
  - { key: c, action: hold }
";

pub async fn retry_is_one_option() {
    let mut stage = Stage::new().await;
    let id = stage.run(ORDER, json!({})).await;
    stage.fail(id, "c").await;
    stage.resolve(id, Decision::RETRY).await.expect("what failed is done again");
    assert_eq!(stage.flow(id), "running: a C, b C, c U, c R");
    stage.fail(id, "c").await;
    stage.resolve(id, from_step("b")).await.expect("or from an earlier step");
    assert_eq!(stage.flow(id), "running: a C, b U, b C, c U, c U, c R");
    stage.done(id, "c").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Succeeded);
    assert_eq!(stage.decided(id), ["retry by test", "retry_from_step by test"]);
    assert_eq!(stage.undoing(id), "", "done again is not undone");
}

pub async fn compensate_is_one_option() {
    let mut stage = Stage::new().await;
    let id = stage.run(ORDER, json!({})).await;
    stage.fail(id, "c").await;
    stage.resolve(id, undo_all()).await.expect("what was done is undone");
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    assert_eq!(stage.undoing(id), "b succeeded, a succeeded");
    assert_eq!(stage.decided(id), ["compensate by test"]);
    let told = stage.told(id);
    let at =
        |kind: &str| told.iter().position(|one| one == kind).unwrap_or_else(|| panic!("{kind}: {told:?}"));
    assert!(at("resolution.decided") < at("compensation.started"), "{told:?}");
}

fn routed(strategy: &str, n: usize) -> String {
    format!(
        "
workflow: routed-{n}
version: 1.0.0
{strategy}
steps:
  - {{ key: a, action: ok, compensation: {{ action: ok }} }}
  - key: route
    branch: {{ choose: input.way, branches: {{ left: [l], right: [r] }}, converge: end }}
  - {{ key: l, action: hold, retry: {{ attempts: 1 }} }}
  - {{ key: r, action: ok }}
  - {{ key: end, action: ok }}
"
    )
}

/// No strategy has a say in which way is taken; and what failed on a way is retried without choosing again.
pub async fn strategies_choose_no_branch() {
    let mut stage = Stage::new().await;
    let mut seen = Vec::new();
    for (n, strategy) in STRATEGIES.iter().enumerate() {
        let id = stage.run(&routed(strategy, n), json!({"way": "left"})).await;
        stage.done(id, "l").await;
        assert_eq!(stage.decided(id), [] as [&str; 0], "nothing failed, so nothing is decided");
        seen.push((stage.flow(id), stage.told(id)));
    }
    assert_eq!(seen[0].0, "succeeded: a C, route C, l C, r K not_on_active_branch, end C");
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:#?}");
    let id = stage.start("routed-1", json!({"way": "left"})).await;
    stage.settle().await;
    stage.fail(id, "l").await;
    pass(&mut stage, 11, 1).await;
    assert_eq!(stage.flow(id), "running: a C, route C, l U, l R, r K not_on_active_branch");
    assert_eq!(stage.browse().branch_decisions(id).expect("a read").len(), 1, "it is not chosen again");
    stage.done(id, "l").await;
}

/// That a poll says *not yet* is no failure, whatever would follow one.
pub async fn a_poll_that_goes_on_is_no_failure() {
    let mut stage = Stage::new().await;
    let mut seen = Vec::new();
    for (n, strategy) in STRATEGIES.iter().enumerate() {
        let yaml = format!(
            "
workflow: asks-{n}
version: 1.0.0
{strategy}
steps:
  - {{ key: a, action: ok, compensation: {{ action: ok }} }}
  - {{ key: paid, poll: {{ action: poll, arguments: [continue, continue, continue, complete], interval: 60s }} }}
"
        );
        let id = stage.run(&yaml, json!({})).await;
        for _ in 0..2 {
            pass(&mut stage, 60, 1).await;
            assert_eq!(stage.flow(id), "running: a C, paid O");
        }
        pass(&mut stage, 60, 1).await;
        assert_eq!((stage.decided(id), stage.undoing(id)), (Vec::new(), String::new()));
        seen.push((stage.flow(id), stage.told(id)));
    }
    assert_eq!(seen[0].0, "succeeded: a C, paid C");
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:#?}");
}

/// A workflow that waits has not failed: its strategy does nothing, and nothing can be retried.
pub async fn a_pause_is_no_failure() {
    let mut stage = Stage::new().await;
    let mut seen = Vec::new();
    for (n, strategy) in STRATEGIES.iter().enumerate() {
        let yaml = format!(
            "
workflow: waits-{n}
version: 1.0.0
{strategy}
steps:
  - {{ key: a, action: ok, compensation: {{ action: ok }}, pause_after: {{ trigger: boss, timeout: 30d }} }}
  - {{ key: b, action: ok }}
"
        );
        let id = stage.run(&yaml, json!({})).await;
        stage.leap(Duration::from_secs(20 * 86_400)).await;
        assert_eq!(stage.flow(id), "paused: a C");
        let refused = stage.resolve(id, Decision::RETRY).await.expect_err("it is refused");
        assert!(refused.contains("it is paused; only what failed can be retried"), "{refused}");
        let refused = stage.resolve(id, Decision::MarkResolved).await.expect_err("it is refused");
        assert!(refused.contains("only what failed can be resolved"), "{refused}");
        stage.trigger(id, "boss", json!(1)).await;
        stage.settle().await;
        assert_eq!((stage.decided(id), stage.undoing(id)), (Vec::new(), String::new()));
        seen.push((stage.flow(id), stage.told(id)));
    }
    assert_eq!(seen[0].0, "succeeded: a C, b C");
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:#?}");
}
