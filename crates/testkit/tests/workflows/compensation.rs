//! What was done is undone: which, in which order, by whom, and when that does not work either.

use engine::WorkflowVerb as V;
use model::{CompensationScope, CompensationState, Decision, Outcome, RetryMode, WorkflowId, WorkflowState};
use serde_json::{Value, json};
use std::time::Duration;
use stepfast_testkit::Stage;

const SAGA: &str = "
workflow: saga
version: 1.0.0
steps:
  - { key: a, action: echo, arguments: { n: 1 }, compensation: { action: hold } }
  - { key: b, action: echo, arguments: { n: 2 } }
  - { key: c, action: echo, arguments: { n: 3 }, compensation: { action: hold, arguments: { was: \"${undo.output.n}\", why: \"${undo.reason}\" } } }
  - { key: d, action: hold, compensation: { action: hold, when: started } }
";

async fn compensate(stage: &mut Stage, id: WorkflowId, scope: CompensationScope) {
    stage.resolve(id, Decision::Compensate { scope }).await.expect("it can be undone");
}

#[tokio::test]
async fn what_was_done_is_undone_backwards_one_at_a_time() {
    let mut stage = Stage::new().await;
    let id = stage.run(SAGA, json!({"order": 7})).await;
    stage.fail(id, "d").await;
    compensate(&mut stage, id, CompensationScope::Full).await;
    assert_eq!(
        stage.undoing(id),
        "d running, c pending, a pending",
        "d was begun, and b says nothing of how it is undone"
    );
    stage.done(id, "d:compensation").await;
    assert_eq!(stage.undoing(id), "d succeeded, c running, a pending");
    let step = stage.step(stage.step_of(id, "c:compensation")).step;
    assert_eq!(&*step.arguments, r#"{"was":3,"why":"because"}"#);
    stage.crash().await;
    stage.settle().await;
    stage.check();
    stage.done(id, "c:compensation").await;
    let told: Value =
        serde_json::from_str(&stage.step(stage.step_of(id, "a:compensation")).step.arguments).unwrap();
    assert_eq!(
        told,
        json!({"step": "a", "run": 1, "item": null, "state": "completed", "input": {"n": 1}, "output": {"n": 1}, "reason": "because"})
    );
    stage.done(id, "a:compensation").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    let told = stage.told(id);
    assert_eq!(told.last().unwrap(), "compensation.completed");
    assert!(told.contains(&"compensation.step_succeeded c".to_string()));
    assert!(stage.resolve(id, Decision::RETRY).await.is_err());
    stage.check();
}

#[tokio::test]
async fn only_what_was_chosen_is_undone() {
    for (scope, expected) in [
        (CompensationScope::Partial(vec!["a".into()]), "a running"),
        (CompensationScope::FromStep("c".into()), "d running, c pending"),
        (CompensationScope::AfterStep("c".into()), "d running"),
    ] {
        let mut stage = Stage::new().await;
        let id = stage.run(SAGA, json!({})).await;
        stage.fail(id, "d").await;
        compensate(&mut stage, id, scope).await;
        assert_eq!(stage.undoing(id), expected);
    }
}

#[tokio::test]
async fn what_cannot_be_undone_waits_for_a_person() {
    let mut stage = Stage::new().await;
    let id = stage.run(SAGA, json!({})).await;
    stage.fail(id, "d").await;
    compensate(&mut stage, id, CompensationScope::Full).await;
    stage.fail(id, "d:compensation").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::CompensationFailed);
    assert_eq!(stage.workflow(id).message.as_deref(), Some("step `d` could not be undone: no"));
    assert!(stage.resolve(id, Decision::Cancel { on_cancel: None }).await.is_err());
    stage.crash().await;
    stage.settle().await;
    stage.resolve(id, Decision::RetryCompensation).await.unwrap();
    assert_eq!(stage.undoing(id), "d running, c pending, a pending");
    stage.fail(id, "d:compensation").await;
    stage.resolve(id, Decision::SkipCompensation { all: false }).await.unwrap();
    assert_eq!(stage.undoing(id), "d skipped, c running, a pending");
    stage.fail(id, "c:compensation").await;
    stage.resolve(id, Decision::SkipCompensation { all: true }).await.unwrap();
    assert_eq!(stage.undoing(id), "d skipped, c skipped, a skipped");
    let workflow = stage.workflow(id);
    assert_eq!(workflow.state, WorkflowState::Compensated);
    assert!(workflow.aftermath.unwrap().has_skips);
    stage.check();
}

#[tokio::test]
async fn it_is_undone_by_itself_where_the_definition_says_so() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: auto
version: 1.0.0
on_failure: auto_compensate
steps:
  - { key: a, action: ok, compensation: { action: ok } }
  - { key: b, action: ok, compensation: { action: ok } }
  - { key: c, action: fail, retry: { attempts: 1 } }
";
    let id = stage.run(yaml, json!({})).await;
    stage.settle().await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    assert_eq!(stage.undoing(id), "b succeeded, a succeeded");
    let decisions = stage.browse().resolution_decisions(id).unwrap();
    assert_eq!((decisions.len(), &*decisions[0].by), (1, "strategy"));
    stage.check();
}

#[tokio::test]
async fn retries_come_first_and_then_it_is_undone() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: both
version: 1.0.0
on_failure: { strategy: auto_retry, max_retries: 1, delay: 10s, fallback: auto_compensate }
steps:
  - { key: a, action: ok, compensation: { action: ok } }
  - { key: b, action: fail, retry: { attempts: 1 } }
";
    let id = stage.run(yaml, json!({})).await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Failed);
    stage.advance(Duration::from_secs(11)).await;
    stage.settle().await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    assert_eq!(stage.undoing(id), "a succeeded");
    stage.check();
}

#[tokio::test]
async fn a_compensation_is_tried_again_as_its_own_policy_says() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: again
version: 1.0.0
on_failure: auto_compensate
steps:
  - { key: a, action: ok, compensation: { action: retry, retry: { attempts: 3, delay: 5s, backoff: 1.0 } } }
  - { key: b, action: fail, retry: { attempts: 1 } }
";
    let id = stage.run(yaml, json!({})).await;
    stage.settle().await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensating);
    for _ in 0..3 {
        stage.advance(Duration::from_secs(6)).await;
        stage.settle().await;
    }
    assert_eq!(stage.workflow(id).state, WorkflowState::CompensationFailed);
    assert_eq!(stage.step(stage.step_of(id, "a:compensation")).step.attempt, 3);
    stage.check();
}

#[tokio::test]
async fn every_item_that_succeeded_is_undone_whatever_became_of_the_whole() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: items
version: 1.0.0
steps:
  - key: all
    action: hold
    each: \"input.items\"
    retry: { attempts: 1 }
    compensation: { action: hold }
";
    let id = stage.run(yaml, json!({"items": [10, 20, 30]})).await;
    let block = stage.step(stage.step_of(id, "all")).step.child_block.unwrap();
    let items: Vec<_> =
        stage.browse().items(block, None, 10).unwrap().into_iter().map(|row| row.step).collect();
    for (n, item) in [(2, &items[2]), (0, &items[0])] {
        let response = Some(format!("{n}"));
        stage.report(stage.session.id, item.id, 1, Outcome::Complete { response }).await;
        stage.settle().await;
        stage.advance(Duration::from_millis(10)).await;
    }
    let failure = model::Failure { message: "no".into(), trace: None };
    stage.report(stage.session.id, items[1].id, 1, Outcome::Fail { failure, notify: true }).await;
    stage.settle().await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Failed);
    compensate(&mut stage, id, CompensationScope::Full).await;
    let given = |stage: &Stage| -> Value {
        serde_json::from_str(&stage.step(stage.step_of(id, "all:compensation")).step.arguments).unwrap()
    };
    let told = given(&stage);
    assert_eq!(
        (&told["item"], &told["input"], &told["output"]),
        (&json!(0), &json!(10), &json!(0)),
        "the last that ended"
    );
    stage.fail(id, "all:compensation").await;
    stage.crash().await;
    stage.settle().await;
    stage.resolve(id, Decision::RetryCompensation).await.unwrap();
    assert_eq!(given(&stage)["item"], json!(0), "the item that could not be undone is tried again");
    stage.done(id, "all:compensation").await;
    assert_eq!(given(&stage)["item"], json!(2));
    stage.fail(id, "all:compensation").await;
    stage.resolve(id, Decision::SkipCompensation { all: false }).await.unwrap();
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    let runs = stage.browse().compensation_runs(id).unwrap();
    assert_eq!(
        (runs[0].state, runs[0].items_done, runs[0].items_skipped),
        (CompensationState::Succeeded, 1, 1)
    );
    stage.check();
}

#[tokio::test]
async fn what_still_runs_is_waited_for_and_then_taken_back() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: busy
version: 1.0.0
steps:
  - { key: a, action: ok, after: [], compensation: { action: ok } }
  - { key: b, action: hold, after: [], compensation: { action: ok } }
  - { key: c, action: hold, after: [], compensation: { action: ok, when: started } }
  - { key: d, action: hold, after: [], compensation: { action: ok } }
  - { key: e, action: ok, after: [b] }
";
    let id = stage.run(yaml, json!({})).await;
    stage.fail(id, "d").await;
    compensate(&mut stage, id, CompensationScope::Full).await;
    assert_eq!(stage.undoing(id), "", "the plan is made when nothing runs any more");
    stage.done(id, "b").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensating);
    let c = stage.step_of(id, "c");
    for _ in 0..4 {
        stage.advance(Duration::from_secs(4)).await;
        stage.settle().await;
    }
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    assert_eq!(stage.undoing(id), "c succeeded, b succeeded, a succeeded");
    let late = stage.report(stage.session.id, c, 1, Outcome::Complete { response: None }).await;
    assert_eq!(late, engine::ReportAnswer::Late);
    assert!(!stage.flow(id).contains("e "), "nothing begins any more");
    stage.check();
}

#[tokio::test]
async fn it_is_undone_back_to_a_step_and_then_done_again_from_there() {
    let mut stage = Stage::new().await;
    let id = stage.run(SAGA, json!({})).await;
    stage.fail(id, "d").await;
    let mode = RetryMode::CompensateThenRetry;
    let decision =
        Decision::RetryFromStep { step: "b".into(), mode, include_step: false, force: false, items: None };
    stage.resolve(id, decision).await.unwrap();
    assert_eq!(stage.undoing(id), "d running, c pending", "a stays done");
    stage.crash().await;
    stage.settle().await;
    stage.done(id, "d:compensation").await;
    stage.crash().await;
    stage.settle().await;
    stage.done(id, "c:compensation").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Running);
    stage.done(id, "d").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Succeeded);
    let told = stage.told(id);
    assert!(told.contains(&"retry_from.completed b".to_string()), "{told:?}");
    assert!(
        !told.contains(&"compensation.completed".to_string())
            || told.contains(&"workflow.resumed".to_string())
    );
    stage.check();
}

#[tokio::test]
async fn what_was_undone_and_done_again_is_undone_once_more() {
    let mut stage = Stage::new().await;
    let id = stage.run(SAGA, json!({})).await;
    stage.fail(id, "d").await;
    let mode = RetryMode::CompensateThenRetry;
    let decision =
        Decision::RetryFromStep { step: "c".into(), mode, include_step: true, force: false, items: None };
    stage.resolve(id, decision).await.unwrap();
    stage.done(id, "d:compensation").await;
    stage.done(id, "c:compensation").await;
    stage.fail(id, "d").await;
    compensate(&mut stage, id, CompensationScope::Full).await;
    let runs = stage.browse().compensation_runs(id).unwrap();
    let second: Vec<&str> =
        runs.iter().filter(|run| run.compensation == 2).map(|run| &*run.step_key).collect();
    assert_eq!(second, ["d", "c", "a"]);
    for key in ["d:compensation", "c:compensation", "a:compensation"] {
        stage.done(id, key).await;
    }
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    stage.check();
}

#[tokio::test]
async fn cancelled_it_is_undone_if_the_definition_or_the_person_says_so() {
    let yaml = "
workflow: dropped
version: 1.0.0
on_cancel: compensate
steps:
  - { key: a, action: ok, compensation: { action: ok } }
  - { key: b, action: hold }
";
    let mut stage = Stage::new().await;
    let id = stage.run(yaml, json!({})).await;
    stage.operate_workflow(id, V::Cancel).await.unwrap();
    stage.done(id, "b").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    assert!(stage.workflow(id).aftermath.unwrap().cancel_requested_at.is_some());
    let other = stage.start("dropped", json!({})).await;
    stage.settle().await;
    let leave = Decision::Cancel { on_cancel: Some(model::definition::OnCancel::Leave) };
    stage.resolve(other, leave).await.unwrap();
    assert_eq!(stage.workflow(other).state, WorkflowState::Cancelled);
    stage.check();
}

#[tokio::test]
async fn a_workflow_that_took_too_long_is_undone_if_the_definition_says_so() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: slow
version: 1.0.0
timeout: 1m
on_timeout: compensate
steps:
  - { key: a, action: ok, compensation: { action: ok } }
  - { key: b, action: hold, compensation: { action: ok, when: started } }
";
    let id = stage.run(yaml, json!({})).await;
    for _ in 0..20 {
        stage.advance(Duration::from_secs(4)).await;
        stage.settle().await;
    }
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    assert_eq!(stage.undoing(id), "b succeeded, a succeeded");
    stage.check();
}

#[tokio::test]
async fn a_workflow_inside_another_is_undone_before_that_one_is_told() {
    let mut stage = Stage::new().await;
    stage
        .define(
            "
workflow: inner
version: 1.0.0
on_failure: auto_compensate
steps:
  - { key: x, action: ok, compensation: { action: hold } }
  - { key: y, action: fail, retry: { attempts: 1 } }
",
        )
        .await;
    let yaml = "
workflow: outer
version: 1.0.0
steps:
  - { key: in, workflow: inner }
";
    let id = stage.run(yaml, json!({})).await;
    assert_eq!(stage.flow(id), "running: in R", "until the inner one is undone");
    let inner = stage.browse().workflow_below(stage.step_of(id, "in")).unwrap().unwrap();
    stage.done(inner, "x:compensation").await;
    assert_eq!(stage.workflow(inner).state, WorkflowState::Compensated);
    assert_eq!(stage.flow(id), "failed: in F");
    assert!(stage.workflow(id).message.unwrap().contains("failed and was undone"));
    stage.check();
}
