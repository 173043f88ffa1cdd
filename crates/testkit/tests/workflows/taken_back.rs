//! What was taken back with its workflow is done again if that goes on after all; what was undone may be archived.

use model::WorkflowState;
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::{Stage, from_step, undo_all, undo_then_from};
use store::{Asked, Retaining, Retention};

/// What was called off because the whole was undone was taken for a failure of its own, which `skip_step` passes over.
#[tokio::test]
async fn what_was_called_off_is_done_again_whatever_its_failure_would_mean() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: beside
version: 1.0.0
steps:
  - { key: a, action: ok, after: [] }
  - { key: b, action: ok, after: [a], compensation: { action: ok } }
  - { key: rest, wait: 1h, after: [], on_failure: skip_step }
  - { key: c, action: hold, after: [b] }
  - { key: end, action: ok, after: [rest, c] }
";
    for crashes in [0, 1] {
        stage.define(yaml).await;
        let id = stage.start("beside", json!({})).await;
        stage.settle().await;
        stage.fail(id, "c").await;
        assert_eq!(stage.flow(id), "failed: a C, b C, rest P, c F");
        stage.resolve(id, undo_then_from("a")).await.unwrap();
        for _ in 0..crashes {
            stage.crash().await;
            stage.settle().await;
        }
        assert!(stage.flow(id).contains("rest U, rest P"), "{}", stage.flow(id));
        stage.done(id, "c").await;
        assert_eq!(stage.workflow(id).state, WorkflowState::Running, "it is waited for");
        stage.leap(Duration::from_secs(3_600)).await;
        assert_eq!(stage.workflow(id).state, WorkflowState::Succeeded);
    }
}

/// Whoever looked for the step that undid another did not find it in the archive and told of lost work.
#[tokio::test]
async fn what_was_undone_may_be_archived_and_nothing_is_wrong_with_that() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: undone
version: 1.0.0
steps:
  - { key: a, action: ok, compensation: { action: ok } }
  - { key: b, action: ok, compensation: { action: ok } }
  - { key: d, action: hold }
";
    let id = stage.run(yaml, json!({})).await;
    stage.fail(id, "d").await;
    stage.resolve(id, undo_all()).await.unwrap();
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    let before = stage.clock_now() + Duration::from_secs(1);
    let archive = Retention::Archive { before };
    let archived = stage
        .engine
        .with_store(move |store| store.retain(archive, Retaining::Done(Asked::by("anna"))))
        .await
        .unwrap()
        .unwrap();
    assert!(archived.steps > 0, "{archived:?}");
    stage.check();
}

/// What was taken back when the whole ended early was taken for a failure of its own until the next crash.
#[tokio::test]
async fn what_was_cut_off_is_done_again_whatever_its_failure_would_mean() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: cut
version: 1.0.0
steps:
  - { key: look, action: hold, terminate_when: { if: \"!outputs.look.ok\", state: failed, reason: not ok } }
  - { key: other, action: hold, after: [], on_failure: skip_step }
  - { key: go, action: ok, after: [look, other] }
";
    for crashes in [0, 1] {
        stage.define(yaml).await;
        let id = stage.start("cut", json!({})).await;
        stage.settle().await;
        stage.done_with(id, "look", r#"{"ok":false}"#).await;
        assert_eq!(stage.flow(id), "failed: look C, other X terminated_early, go K terminated_early");
        for _ in 0..crashes {
            stage.crash().await;
            stage.settle().await;
        }
        stage.resolve(id, from_step("look")).await.unwrap();
        assert_eq!(stage.flow(id), "running: look U, look R, other U, other R, go U");
        stage.done_with(id, "look", r#"{"ok":true}"#).await;
        stage.done(id, "other").await;
        assert_eq!(stage.workflow(id).state, WorkflowState::Succeeded);
    }
}
