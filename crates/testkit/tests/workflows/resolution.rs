//! What becomes of a workflow that failed: strategies, decisions, and being done again from a step.

use engine::WorkflowVerb as V;
use model::definition::OnCancel;
use model::{CompensationScope, Decision, RetryMode, State, WorkflowState};
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::{Stage, from_step};

const THREE: &str = "
workflow: three
version: 1.0.0
steps:
  - { key: a, action: hold }
  - { key: b, action: hold, arguments: { from: \"${outputs.a.n}\" } }
  - { key: c, action: hold }
";

#[tokio::test]
async fn what_failed_waits_for_a_decision_and_is_retried() {
    let mut stage = Stage::new().await;
    let id = stage.run(THREE, json!({})).await;
    stage.done_with(id, "a", r#"{"n":1}"#).await;
    stage.fail(id, "b").await;
    assert_eq!(stage.flow(id), "failed: a C, b F");
    assert!(stage.told(id).contains(&"workflow.awaiting_resolution".to_string()));
    stage.crash().await;
    stage.settle().await;
    stage.resolve(id, Decision::RETRY).await.unwrap();
    assert_eq!(stage.flow(id), "running: a C, b U, b R");
    let rows = stage.browse().workflow_steps(id).unwrap();
    let (old, new) = (&rows[1], &rows[2]);
    assert_eq!(old.detail.superseded_by, Some(new.step.id));
    assert_eq!(new.detail.retry_source, Some(model::RetrySource::FailedRetry));
    assert_eq!(new.step.in_workflow.unwrap().run, 2);
    let decisions = stage.browse().resolution_decisions(id).unwrap();
    assert_eq!(decisions.len(), 1);
    assert_eq!(
        (&decisions[0].decision, &*decisions[0].by, &*decisions[0].why),
        (&Decision::RETRY, "test", "because")
    );
    stage.done(id, "b").await;
    stage.done(id, "c").await;
    assert_eq!(stage.flow(id), "succeeded: a C, b U, b C, c C");
    stage.check();
}

#[tokio::test]
async fn done_again_from_a_step_everything_behind_it_is_done_again() {
    let mut stage = Stage::new().await;
    let id = stage.run(THREE, json!({})).await;
    stage.done_with(id, "a", r#"{"n":1}"#).await;
    stage.done(id, "b").await;
    stage.fail(id, "c").await;
    stage.resolve(id, from_step("a")).await.unwrap();
    assert_eq!(stage.flow(id), "running: a U, a R, b U, c U");
    stage.check();
    stage.crash().await;
    stage.settle().await;
    stage.done_with(id, "a", r#"{"n":2}"#).await;
    assert_eq!(stage.flow(id), "running: a U, a C, b U, b R, c U");
    let b = stage.step(stage.step_of(id, "b"));
    assert_eq!(&*b.step.arguments, r#"{"from":2}"#, "what the first run answered is not current any more");
    assert_eq!(b.detail.retry_source, Some(model::RetrySource::RetryFromStep));
    let rows = stage.browse().workflow_steps(id).unwrap();
    assert_eq!(rows[2].detail.superseded_by, Some(b.step.id), "linked when its successor is there");
    assert_eq!(rows[4].detail.superseded_by, None);
    stage.done(id, "b").await;
    stage.done(id, "c").await;
    assert_eq!(stage.flow(id), "succeeded: a U, a C, b U, b C, c U, c C");
    let told = stage.told(id);
    assert!(
        told.contains(&"retry_from.initiated a".to_string())
            && told.contains(&"retry_from.completed a".to_string())
    );
    stage.check();
}

#[tokio::test]
async fn what_cannot_be_decided_is_refused_with_the_reason() {
    let mut stage = Stage::new().await;
    let id = stage.run(THREE, json!({})).await;
    let refused = |decided: Result<(), String>| decided.unwrap_err();
    assert!(refused(stage.resolve(id, Decision::RETRY).await).contains("it is running; only what failed"));
    assert!(
        refused(stage.resolve(id, Decision::MarkResolved).await).contains("only what failed can be resolved")
    );
    assert!(refused(stage.resolve(id, Decision::RetryCompensation).await).contains("could not be undone"));
    stage.fail(id, "a").await;
    assert!(
        refused(stage.resolve(id, from_step("x")).await).contains("there is no step `x`; there are a, b, c")
    );
    assert!(refused(stage.resolve(id, from_step("b")).await).contains("step `b` has not been done yet"));
    let all = Decision::Compensate { scope: CompensationScope::Full };
    assert!(refused(stage.resolve(id, all).await).contains("none of its steps says how it is undone"));
    stage.resolve(id, Decision::MarkResolved).await.unwrap();
    assert_eq!(stage.flow(id), "failed: a F");
    assert!(stage.workflow(id).aftermath.unwrap().resolved_at.is_some());
    assert!(refused(stage.resolve(id, Decision::RETRY).await).contains("marked as resolved"));
    assert!(
        refused(stage.resolve(id, Decision::Cancel { on_cancel: None }).await).contains("marked as resolved")
    );
    stage.check();
}

#[tokio::test]
async fn of_two_who_decide_at_once_one_is_told_that_it_was_too_late() {
    let mut stage = Stage::new().await;
    let id = stage.run(THREE, json!({})).await;
    stage.fail(id, "a").await;
    let version = stage.workflow(id).version;
    let operation = |decision| engine::WorkflowOperation {
        workflow: id,
        verb: V::Resolve(decision),
        by: "x".into(),
        why: String::new(),
        dry_run: false,
        expected: Some(version),
        force: None,
    };
    let (one, two) = tokio::join!(
        stage.engine.operate_workflow(operation(Decision::RETRY)),
        stage.engine.operate_workflow(operation(Decision::Cancel { on_cancel: None }))
    );
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    stage.settle().await;
    assert_eq!(stage.browse().resolution_decisions(id).unwrap().len(), 1);
    stage.check();
}

#[tokio::test]
async fn a_dry_run_tells_and_does_nothing() {
    let mut stage = Stage::new().await;
    let id = stage.run(THREE, json!({})).await;
    stage.done_with(id, "a", r#"{"n":1}"#).await;
    stage.fail(id, "b").await;
    let before = stage.workflow(id);
    let operation = engine::WorkflowOperation {
        workflow: id,
        verb: V::Resolve(from_step("a")),
        by: "x".into(),
        why: String::new(),
        dry_run: true,
        expected: None,
        force: None,
    };
    let told = stage.engine.operate_workflow(operation).await.unwrap();
    assert_eq!(told.to, WorkflowState::Running);
    assert_eq!(
        told.effects,
        [
            "step `a` is done again; its last run is kept as superseded",
            "step `b` is done again; its last run is kept as superseded",
            "step `c` is done when its turn comes"
        ]
    );
    assert_eq!(stage.workflow(id), before);
    assert!(stage.browse().resolution_decisions(id).unwrap().is_empty());
}

#[tokio::test]
async fn it_is_retried_by_itself_and_then_somebody_is_asked() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: stubborn
version: 1.0.0
on_failure: { strategy: auto_retry, max_retries: 2, delay: 60s, backoff: 2.0 }
steps:
  - { key: a, action: hold }
  - { key: b, action: hold }
";
    let id = stage.run(yaml, json!({})).await;
    stage.fail(id, "a").await;
    assert_eq!(stage.flow(id), "failed: a F");
    stage.crash().await;
    stage.settle().await;
    stage.advance(Duration::from_secs(35)).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "failed: a F", "not before its time");
    stage.advance(Duration::from_secs(26)).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "running: a U, a R");
    stage.fail(id, "a").await;
    stage.advance(Duration::from_secs(121)).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "running: a U, a U, a R");
    assert_eq!(stage.workflow(id).aftermath.unwrap().auto_retries, 2);
    stage.done(id, "a").await;
    assert_eq!(stage.workflow(id).aftermath.unwrap().auto_retries, 0, "counted anew once it succeeded");
    for _ in 0..2 {
        stage.fail(id, "b").await;
        stage.advance(Duration::from_secs(200)).await;
        stage.settle().await;
    }
    stage.fail(id, "b").await;
    stage.advance(Duration::from_secs(10_000)).await;
    stage.settle().await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Failed);
    let told = stage.told(id);
    assert_eq!(told.iter().filter(|t| *t == "auto_retry.scheduled").count(), 4);
    assert_eq!(told.iter().filter(|t| *t == "auto_retry.exhausted").count(), 1);
    assert_eq!(told.last().unwrap(), "workflow.awaiting_resolution");
    assert_eq!(
        stage.browse().resolution_decisions(id).unwrap().len(),
        4,
        "each retry is a decision of the strategy"
    );
    stage.check();
}

#[tokio::test]
async fn a_person_may_decide_before_it_is_retried_by_itself() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: soon
version: 1.0.0
on_failure: auto_retry
steps:
  - { key: a, action: hold }
";
    let id = stage.run(yaml, json!({})).await;
    stage.fail(id, "a").await;
    stage.resolve(id, Decision::Cancel { on_cancel: None }).await.unwrap();
    stage.advance(Duration::from_secs(7_200)).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "cancelled: a F");
    stage.check();
}

#[tokio::test]
async fn decisions_at_branches_behind_the_step_are_made_again() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: ways
version: 1.0.0
steps:
  - { key: look, action: hold }
  - key: route
    branch: { choose: \"outputs.look.way\", branches: { left: [l], right: [r] }, converge: meet }
  - { key: l, action: ok }
  - { key: r, action: ok }
  - { key: meet, action: hold }
";
    let id = stage.run(yaml, json!({})).await;
    stage.done_with(id, "look", r#"{"way":"left"}"#).await;
    stage.fail(id, "meet").await;
    assert_eq!(stage.flow(id), "failed: look C, route C, l C, r K not_on_active_branch, meet F");
    stage.resolve(id, from_step("look")).await.unwrap();
    stage.done_with(id, "look", r#"{"way":"right"}"#).await;
    stage.done(id, "meet").await;
    let flow = stage.flow(id);
    assert_eq!(
        flow,
        "succeeded: look U, look C, route U, route C, l U, l K not_on_active_branch, r U, r C, meet U, meet C"
    );
    assert_eq!(stage.browse().branch_decisions(id).unwrap().len(), 2);
    stage.check();
}

#[tokio::test]
async fn steps_beside_the_one_it_is_done_again_from_stay_as_they_are() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: beside
version: 1.0.0
steps:
  - { key: a, action: ok, after: [] }
  - { key: b, action: hold, after: [] }
  - { key: c, action: ok, after: [a] }
  - { key: d, action: ok, after: [b] }
";
    let id = stage.run(yaml, json!({})).await;
    stage.fail(id, "b").await;
    assert_eq!(stage.flow(id), "failed: a C, b F, c C");
    stage.resolve(id, from_step("c")).await.unwrap();
    assert_eq!(
        stage.flow(id),
        "running: a C, b U, b R, c U, c C",
        "what failed elsewhere holds it up, so it is retried too"
    );
    stage.done(id, "b").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Succeeded);
    let force = Decision::RetryFromStep {
        step: "d".into(),
        mode: RetryMode::RetryOnly,
        include_step: false,
        force: true,
        items: None,
    };
    assert!(stage.resolve(id, from_step("d")).await.unwrap_err().contains("it succeeded; say so"));
    stage.resolve(id, force).await.unwrap();
    assert_eq!(stage.flow(id), "succeeded: a C, b U, b C, c U, c C, d U, d C");
    stage.check();
}

#[tokio::test]
async fn what_was_ended_early_can_be_done_again_from_a_step() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: early
version: 1.0.0
steps:
  - { key: look, action: hold, terminate_when: { if: \"!outputs.look.ok\", state: failed, reason: not ok } }
  - { key: other, action: hold, after: [] }
  - { key: go, action: ok, after: [look, other] }
";
    let id = stage.run(yaml, json!({})).await;
    stage.done_with(id, "look", r#"{"ok":false}"#).await;
    assert_eq!(stage.flow(id), "failed: look C, other X terminated_early, go K terminated_early");
    stage.crash().await;
    stage.settle().await;
    stage.resolve(id, from_step("look")).await.unwrap();
    stage.done_with(id, "look", r#"{"ok":true}"#).await;
    stage.done(id, "other").await;
    assert_eq!(stage.flow(id), "succeeded: look U, look C, other U, other C, go U, go C");
    stage.check();
}

#[tokio::test]
async fn the_time_of_the_whole_begins_anew_when_it_is_done_again() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: late
version: 1.0.0
timeout: 1h
steps:
  - { key: a, action: hold }
";
    let id = stage.run(yaml, json!({})).await;
    stage.advance(Duration::from_secs(3_601)).await;
    stage.settle().await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Failed);
    stage.resolve(id, Decision::RETRY).await.unwrap();
    assert_eq!(stage.workflow(id).state, WorkflowState::Running);
    stage.advance(Duration::from_secs(3_000)).await;
    stage.settle().await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Running);
    assert_eq!(stage.step(stage.step_of(id, "a")).step.state, State::Running);
    stage.advance(Duration::from_secs(601)).await;
    stage.settle().await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Failed);
    stage.check();
}

#[tokio::test]
async fn a_time_out_may_be_final() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: final
version: 1.0.0
timeout: 1m
on_timeout: fail
steps:
  - { key: a, action: hold }
";
    let id = stage.run(yaml, json!({})).await;
    stage.advance(Duration::from_secs(61)).await;
    stage.settle().await;
    assert!(stage.workflow(id).aftermath.unwrap().resolved_at.is_some());
    let cancel = Decision::Cancel { on_cancel: Some(OnCancel::Leave) };
    assert!(stage.resolve(id, cancel).await.is_err());
}
