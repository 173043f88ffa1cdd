//! Pause triggers with each of the others.

use super::play::{pass, refused};
use model::{Decision, TriggerAnswer as A, WorkflowState};
use serde_json::json;
use stepfast_testkit::{Stage, from_step, undo_all};

const ASK: &str = "
workflow: ask
version: 1.0.0
on_failure: auto_compensate
steps:
  - key: ask
    action: ok
    pause_after: { trigger: boss, payload: { schema: { type: object } }, resume_when: payload.ok == true }
    compensation: { action: hold }
  - { key: end, action: ok }
";

fn with(option: &str) -> String {
    ASK.replace("trigger: boss", &format!("trigger: boss, {option}"))
}

/// A pause has no strategy of its own, and that somebody says no, or sends something else, is no failure.
pub async fn a_pause_resolves_no_failure() {
    let inside = with("on_failure: auto_retry");
    assert!(refused(&inside).contains("unknown key `on_failure` in"), "{}", refused(&inside));
    let mut stage = Stage::new().await;
    let id = stage.run(ASK, json!({})).await;
    for _ in 0..5 {
        assert!(matches!(stage.trigger(id, "boss", json!({"ok": false})).await, A::StillWaiting(_)));
        assert!(matches!(stage.trigger(id, "boss", json!("what?")).await, A::Unfit(_)));
        stage.settle().await;
    }
    assert_eq!(stage.flow(id), "paused: ask C");
    assert_eq!((stage.decided(id), stage.undoing(id)), (Vec::new(), String::new()));
    assert_eq!(stage.trigger(id, "boss", json!({"ok": true})).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: ask C, end C");
}

/// A trigger is no step to begin from, and what is sent to it, however often, does nothing again.
pub async fn a_trigger_retries_nothing() {
    let inside = with("retry_from: ask");
    assert!(refused(&inside).contains("unknown key `retry_from` in"), "{}", refused(&inside));
    let mut stage = Stage::new().await;
    let id = stage.run(ASK, json!({})).await;
    let refused = stage.resolve(id, from_step("boss")).await.expect_err("it is refused");
    assert!(refused.contains("there is no step `boss`"), "{refused}");
    assert_eq!(stage.trigger(id, "boss", json!({"ok": true})).await, A::Accepted);
    for _ in 0..5 {
        stage.settle().await;
        assert!(matches!(stage.trigger(id, "boss", json!({"ok": true})).await, A::Consumed(_)));
    }
    assert_eq!(stage.flow(id), "succeeded: ask C, end C", "one run of each");
    assert_eq!(stage.decided(id), [] as [&str; 0]);
}

/// Nothing that is sent undoes anything or stops it from being undone, and what was undone waits for nobody.
pub async fn a_trigger_undoes_nothing() {
    let inside = with("compensate: true");
    assert!(refused(&inside).contains("unknown key `compensate` in"), "{}", refused(&inside));
    let mut stage = Stage::new().await;
    let id = stage.run(ASK, json!({})).await;
    stage.resolve(id, undo_all()).await.expect("it waits");
    for state in [
        WorkflowState::Compensating,
        WorkflowState::CompensationFailed,
        WorkflowState::Compensating,
        WorkflowState::Compensated,
    ] {
        assert_eq!(stage.workflow(id).state, state);
        let before = (stage.flow(id), stage.undoing(id));
        assert!(matches!(stage.trigger(id, "boss", json!({"ok": true})).await, A::Late(_)));
        stage.settle().await;
        assert_eq!((stage.flow(id), stage.undoing(id)), before);
        match (state, stage.undoing(id).as_str()) {
            (WorkflowState::CompensationFailed, _) => {
                stage.resolve(id, Decision::RetryCompensation).await.expect("it failed")
            }
            (WorkflowState::Compensating, _) if stage.decided(id).len() == 1 => {
                stage.fail(id, "ask:compensation").await
            }
            (WorkflowState::Compensating, _) => stage.done(id, "ask:compensation").await,
            _ => {}
        }
    }
    assert_eq!(stage.pauses(id), ["ask 1 cancelled"]);
}

const WAYS: &str = "
workflow: ways
version: 1.0.0
steps:
  - key: route
    branch: { kind: inclusive, choose: input.ways, branches: { x: [x], y: [y], z: [z] }, converge: end }
  - { key: x, action: ok, pause_after: { trigger: x-go } }
  - { key: y, action: ok, pause_after: { trigger: y-go } }
  - { key: z, action: ok, pause_after: { trigger: z-go } }
  - { key: end, action: ok, pause_after: { trigger: end-go } }
";

/// Each branch pauses by itself, where they meet all are waited for, and on a way that was not taken nobody is.
pub async fn branches_pause_by_themselves() {
    let mut stage = Stage::new().await;
    let id = stage.run(WAYS, json!({"ways": ["x", "z"]})).await;
    assert_eq!(stage.flow(id), "paused: route C, x C, y K not_on_active_branch, z C");
    assert_eq!(stage.pauses(id), ["x 1 waiting", "z 1 waiting"]);
    assert!(matches!(stage.trigger(id, "y-go", json!(1)).await, A::Late(_)));
    assert_eq!(stage.trigger(id, "z-go", json!(1)).await, A::Accepted);
    stage.crash().await;
    stage.settle().await;
    assert_eq!(stage.pauses(id), ["x 1 waiting", "z 1 resumed"]);
    assert_eq!(stage.trigger(id, "x-go", json!(1)).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.flow(id), "paused: route C, x C, y K not_on_active_branch, z C, end C");
    assert_eq!(stage.trigger(id, "end-go", json!(1)).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Succeeded);
}

/// Behind a poll that came to its default somebody is asked, too; behind one that failed nobody is.
pub async fn a_poll_without_an_answer_pauses_only_with_a_default() {
    let mut stage = Stage::new().await;
    let yaml = |name: &str, policy: &str| {
        format!(
            "
workflow: {name}
version: 1.0.0
steps:
  - {{ key: paid, poll: {{ action: poll, arguments: [continue], interval: 60s, max_attempts: 2, {policy} }}, pause_after: {{ trigger: boss }} }}
  - {{ key: end, action: echo, arguments: \"${{outputs.paid}}\" }}
"
        )
    };
    let id = stage
        .run(&yaml("default", "on_timeout: continue_with_default, default: { paid: false }"), json!({}))
        .await;
    assert_eq!(stage.trigger(id, "boss", json!(1)).await, A::Early, "it may come while it is polled");
    pass(&mut stage, 60, 1).await;
    assert_eq!(stage.flow(id), "succeeded: paid C, end C");
    assert_eq!(stage.pauses(id), ["paid 1 resumed"]);
    assert_eq!(stage.workflow(id).output.as_deref(), Some(r#"{"paid":false}"#));
    let id = stage.run(&yaml("fails", "on_timeout: fail"), json!({})).await;
    pass(&mut stage, 60, 1).await;
    assert_eq!(stage.flow(id), "failed: paid T");
    assert_eq!(stage.pauses(id), [] as [&str; 0]);
    stage.resolve(id, Decision::RETRY).await.expect("it failed");
    assert_eq!(stage.flow(id), "running: paid U, paid O");
}
