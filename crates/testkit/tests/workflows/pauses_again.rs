//! Pauses of workflows that are done again from a step, undone or left: what was waited for is cancelled, and asked for anew.

use engine::{TriggerOrder, WorkflowVerb as V};
use model::{CompensationScope, Decision, RetryMode, TriggerAnswer as A, WorkflowState};
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::{Stage, from_step, undo_then_from};

const ASK: &str = "
workflow: ask
version: 1.0.0
steps:
  - { key: first, action: ok }
  - { key: ask, action: ok, pause_after: { trigger: boss } }
  - { key: end, action: echo, arguments: \"${outputs.boss}\" }
";

const UNDONE: &str = "
workflow: undone
version: 1.0.0
steps:
  - { key: book, action: ok, compensation: { action: hold } }
  - { key: ask, action: ok, pause_after: { trigger: boss, timeout: 1h }, compensation: { action: hold } }
  - { key: end, action: ok }
";

#[tokio::test]
async fn done_again_from_before_a_pause_it_asks_anew() {
    let mut stage = Stage::new().await;
    let id = stage.run(ASK, json!({})).await;
    let of_run = |run| TriggerOrder { run: Some(run), ..TriggerOrder::of(id, "boss", "1".into(), "x") };
    stage.resolve(id, from_step("first")).await.unwrap();
    assert_eq!(stage.flow(id), "paused: first U, first C, ask U, ask C");
    assert_eq!(stage.pauses(id), ["ask 1 cancelled", "ask 2 waiting"]);
    stage.check();
    let old = stage.engine.trigger(of_run(1)).await.unwrap().answer;
    assert!(matches!(old, A::Late(_)), "the old one no longer lets it go on: {old:?}");
    assert_eq!(stage.flow(id), "paused: first U, first C, ask U, ask C");
    stage.crash().await;
    assert_eq!(stage.engine.trigger(of_run(2)).await.unwrap().answer, A::Accepted);
    stage.settle().await;
    assert!(stage.flow(id).starts_with("succeeded"), "{}", stage.flow(id));
    assert_eq!(stage.pauses(id), ["ask 1 cancelled", "ask 2 resumed"]);
    stage.check();
}

#[tokio::test]
async fn what_was_sent_to_a_run_that_is_superseded_counts_no_more() {
    let mut stage = Stage::new().await;
    let yaml = ASK.replace("key: first, action: ok", "key: first, action: hold");
    let id = stage.run(&yaml, json!({})).await;
    stage.done(id, "first").await;
    assert_eq!(stage.trigger(id, "boss", json!("old")).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.workflow(id).output.as_deref(), Some("\"old\""));
    let again = Decision::RetryFromStep {
        step: "first".into(),
        mode: RetryMode::RetryOnly,
        include_step: false,
        force: true,
        items: None,
    };
    stage.resolve(id, again).await.unwrap();
    stage.crash().await;
    stage.settle().await;
    assert_eq!(stage.trigger(id, "boss", json!("new")).await, A::Early, "its pause is ahead again");
    stage.done(id, "first").await;
    assert_eq!(stage.workflow(id).output.as_deref(), Some("\"new\""));
    assert_eq!(stage.pauses(id), ["ask 1 resumed", "ask 2 resumed"]);
    stage.check();
}

#[tokio::test]
async fn a_trigger_is_no_step_to_begin_from() {
    let mut stage = Stage::new().await;
    let id = stage.run(ASK, json!({})).await;
    let decision = V::Resolve(from_step("boss"));
    let refused = stage.operate_workflow(id, decision).await.unwrap_err();
    assert!(refused.contains("there is no step `boss`"), "{refused}");
}

#[tokio::test]
async fn what_waits_at_a_pause_can_be_undone() {
    let mut stage = Stage::new().await;
    let id = stage.run(UNDONE, json!({})).await;
    stage.resolve(id, Decision::Compensate { scope: CompensationScope::Full }).await.unwrap();
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensating);
    assert_eq!(stage.pauses(id), ["ask 1 cancelled"]);
    assert_eq!(stage.undoing(id), "ask running, book pending", "the pause holds nothing up");
    stage.check();
    assert!(matches!(stage.trigger(id, "boss", json!(1)).await, A::Late(_)));
    stage.crash().await;
    stage.settle().await;
    assert!(matches!(stage.trigger(id, "boss", json!(1)).await, A::Late(_)));
    stage.done(id, "ask:compensation").await;
    stage.done(id, "book:compensation").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    stage.check();
}

#[tokio::test]
async fn undone_and_done_again_it_asks_anew() {
    let mut stage = Stage::new().await;
    let id = stage.run(UNDONE, json!({})).await;
    stage.resolve(id, undo_then_from("book")).await.unwrap();
    assert_eq!(stage.undoing(id), "ask running");
    stage.crash().await;
    stage.settle().await;
    stage.done(id, "ask:compensation").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Paused);
    assert_eq!(stage.pauses(id), ["ask 1 cancelled", "ask 2 waiting"]);
    assert_eq!(stage.trigger(id, "boss", json!(1)).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Succeeded);
    stage.check();
}

#[tokio::test]
async fn a_step_that_ends_while_others_are_undone_begins_no_pause() {
    let mut stage = Stage::new().await;
    let yaml = UNDONE.replace("key: ask, action: ok", "key: ask, action: hold");
    let id = stage.run(&yaml, json!({})).await;
    stage.resolve(id, Decision::Compensate { scope: CompensationScope::Full }).await.unwrap();
    assert_eq!(stage.undoing(id), "", "what runs may end");
    stage.done(id, "ask").await;
    assert_eq!(stage.pauses(id), ["ask 1 cancelled"]);
    assert_eq!(stage.undoing(id), "ask running, book pending");
    stage.check();
}

#[tokio::test]
async fn the_strategy_follows_when_nobody_comes_in_time() {
    let mut stage = Stage::new().await;
    let hours = Duration::from_secs(7_200);
    let undoes = UNDONE.replace("steps:", "on_failure: { strategy: auto_compensate }\nsteps:");
    let id = stage.run(&undoes, json!({})).await;
    stage.leap(hours).await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensating);
    assert_eq!(stage.pauses(id), ["ask 1 timed_out"]);
    assert_eq!(stage.undoing(id), "ask running, book pending");
    let retries = UNDONE
        .replace("workflow: undone", "workflow: retried")
        .replace("steps:", "on_failure: { strategy: auto_retry, max_retries: 1, delay: 1m }\nsteps:");
    let id = stage.run(&retries, json!({})).await;
    stage.leap(hours).await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Failed);
    stage.leap(Duration::from_secs(120)).await;
    assert_eq!(stage.pauses(id), ["ask 1 timed_out", "ask 2 waiting"], "done again, the step asks again");
    assert_eq!(stage.trigger(id, "boss", json!(1)).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Succeeded);
    stage.check();
}

#[tokio::test]
async fn what_is_marked_as_resolved_waits_for_nothing() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: left
version: 1.0.0
steps:
  - { key: ask, action: ok, after: [], pause_after: { trigger: boss } }
  - { key: side, action: fail, after: [], retry: { attempts: 1 } }
";
    let id = stage.run(yaml, json!({})).await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Failed);
    assert_eq!(stage.pauses(id), ["ask 1 waiting"]);
    stage.resolve(id, Decision::MarkResolved).await.unwrap();
    assert_eq!(stage.pauses(id), ["ask 1 cancelled"]);
    assert!(matches!(stage.trigger(id, "boss", json!(1)).await, A::Late(_)));
    stage.check();
}
