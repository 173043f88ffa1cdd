//! Compensation with each of the others.

use super::play::{pass, refused};
use model::definition::OnCancel;
use model::{Decision, TriggerAnswer as A, WorkflowState};
use serde_json::{Value, json};
use std::time::Duration;
use stepfast_testkit::{Stage, from_step, undo_all, undo_then_from};

fn saga(head: &str) -> String {
    format!(
        "
workflow: saga
version: 1.0.0
{head}
steps:
  - {{ key: a, action: ok, compensation: {{ action: ok }} }}
  - {{ key: b, action: ok, compensation: {{ action: ok }} }}
  - {{ key: c, action: hold, retry: {{ attempts: 1 }} }}
"
    )
}

/// By the strategy, when its retries are used up, when it is cancelled, when it took too long, and by a person.
pub async fn it_is_triggered_by_resolution() {
    let auto = "on_failure: auto_compensate";
    let last = "on_failure: { strategy: auto_retry, max_retries: 1, delay: 10s, fallback: auto_compensate }";
    for (head, by) in
        [(auto, "compensate by strategy"), (last, "compensate by strategy"), ("", "compensate by test")]
    {
        let mut stage = Stage::new().await;
        let id = stage.run(&saga(head), json!({})).await;
        stage.fail(id, "c").await;
        if head == last {
            assert_eq!(stage.undoing(id), "", "a retry is left");
            pass(&mut stage, 11, 1).await;
            stage.fail(id, "c").await;
        }
        if head.is_empty() {
            assert_eq!(stage.undoing(id), "", "a person is asked");
            stage.resolve(id, undo_all()).await.expect("it failed");
        }
        assert_eq!(stage.undoing(id), "b succeeded, a succeeded", "{head}");
        assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
        assert_eq!(stage.decided(id).last().map(String::as_str), Some(by));
    }
    let mut stage = Stage::new().await;
    let id = stage.run(&saga(""), json!({})).await;
    stage.resolve(id, Decision::Cancel { on_cancel: Some(OnCancel::Compensate) }).await.expect("it runs");
    stage.done(id, "c").await;
    assert_eq!(
        (stage.workflow(id).state, stage.undoing(id).as_str()),
        (WorkflowState::Compensated, "b succeeded, a succeeded")
    );
    let late = saga("timeout: 1m\non_timeout: compensate").replace("workflow: saga", "workflow: late");
    let id = stage.run(&late, json!({})).await;
    for _ in 0..20 {
        pass(&mut stage, 4, 1).await;
    }
    assert_eq!(
        (stage.workflow(id).state, stage.undoing(id).as_str()),
        (WorkflowState::Compensated, "b succeeded, a succeeded")
    );
}

/// The same retry with it and without it differ in nothing but that.
pub async fn it_is_optional_before_a_retry() {
    let mut stage = Stage::new().await;
    let mut ends = Vec::new();
    stage.define(&saga("")).await;
    for (decision, undone) in [(from_step("a"), ""), (undo_then_from("a"), "b succeeded")] {
        let id = stage.start("saga", json!({})).await;
        stage.settle().await;
        stage.fail(id, "c").await;
        stage.resolve(id, decision).await.expect("it failed");
        assert_eq!(stage.undoing(id), undone);
        stage.done(id, "c").await;
        let forward: Vec<String> = stage
            .flow(id)
            .split(", ")
            .filter(|step| !step.contains(":compensation"))
            .map(String::from)
            .collect();
        ends.push(forward);
    }
    assert_eq!(ends[0].join(", "), "succeeded: a U, a C, b U, b C, c U, c C");
    assert_eq!(ends[0], ends[1]);
}

/// Of the ways that were taken, and of no other.
pub async fn only_the_active_branch_is_undone() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: ways
version: 1.0.0
steps:
  - key: route
    branch: { kind: inclusive, choose: input.ways, branches: { x: [x1, x2], y: [y1], z: [z1] }, converge: meet }
  - { key: x1, action: ok, compensation: { action: ok } }
  - { key: x2, action: ok, compensation: { action: ok } }
  - { key: y1, action: hold, compensation: { action: ok } }
  - { key: z1, action: ok, compensation: { action: ok, when: started } }
  - { key: meet, action: hold }
";
    for (ways, undone) in
        [(json!(["x", "y"]), "y1 succeeded, x2 succeeded, x1 succeeded"), (json!(["y"]), "y1 succeeded")]
    {
        stage.define(yaml).await;
        let id = stage.start("ways", json!({"ways": ways})).await;
        stage.settle().await;
        stage.advance(Duration::from_secs(1)).await;
        stage.done(id, "y1").await;
        stage.fail(id, "meet").await;
        stage.resolve(id, undo_all()).await.expect("it failed");
        assert_eq!(stage.undoing(id), undone, "{ways}");
        assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    }
}

/// One that is being polled is called off, and undone only if it asks for that; one that completed is undone.
pub async fn a_poll_is_undone() {
    for (when, undone) in [("completed", "a succeeded"), ("started", "paid succeeded, a succeeded")] {
        let mut stage = Stage::new().await;
        let yaml = format!(
            "
workflow: asks
version: 1.0.0
steps:
  - {{ key: a, action: ok, compensation: {{ action: ok }} }}
  - {{ key: paid, poll: {{ action: poll, arguments: \"${{input.says}}\", interval: 60s }}, compensation: {{ action: ok, when: {when} }} }}
  - {{ key: end, action: hold }}
"
        );
        let id = stage.run(&yaml, json!({"says": ["continue"]})).await;
        assert_eq!(stage.flow(id), "running: a C, paid O");
        stage.resolve(id, undo_all()).await.expect("it runs");
        assert_eq!(stage.undoing(id), undone, "{when}");
        assert!(stage.flow(id).contains("paid X workflow_compensating"), "{}", stage.flow(id));
        pass(&mut stage, 60, 3).await;
        assert_eq!(stage.step(stage.step_of(id, "paid")).step.polls, 1, "nobody polls it any more");
        let id = stage.start("asks", json!({"says": ["continue", "complete"]})).await;
        stage.settle().await;
        pass(&mut stage, 60, 1).await;
        stage.fail(id, "end").await;
        stage.resolve(id, undo_all()).await.expect("it failed");
        assert_eq!(stage.undoing(id), "paid succeeded, a succeeded");
    }
}

/// A pause is no work: it cannot say how it is undone, stands in no plan, and holds none up.
pub async fn a_pause_is_not_undone() {
    let yaml = "
workflow: approved
version: 1.0.0
steps:
  - { key: a, action: ok, compensation: { action: hold }, pause_after: { trigger: boss } }
  - { key: b, action: ok }
";
    let inside = yaml.replace("trigger: boss", "trigger: boss, compensation: { action: ok }");
    assert!(refused(&inside).contains("unknown key `compensation` in"), "{}", refused(&inside));
    let mut stage = Stage::new().await;
    let id = stage.run(yaml, json!({})).await;
    stage.resolve(id, undo_all()).await.expect("it waits");
    assert_eq!(stage.undoing(id), "a running", "the step before it, once");
    assert_eq!(stage.pauses(id), ["a 1 cancelled"]);
    assert!(matches!(stage.trigger(id, "boss", json!(1)).await, A::Late(_)));
    let told: Value =
        serde_json::from_str(&stage.step(stage.step_of(id, "a:compensation")).step.arguments).expect("JSON");
    assert_eq!(told["output"], json!({"ok": true}), "what the step answered, and nothing of the pause");
    stage.done(id, "a:compensation").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    assert_eq!(stage.pauses(id), ["a 1 cancelled"]);
}
