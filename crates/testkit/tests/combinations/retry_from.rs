//! Retry from a step with each of the others.

use super::play::pass;
use model::{RetrySource, TriggerAnswer as A, WorkflowState};
use serde_json::json;
use stepfast_testkit::{Stage, from_step, undo_then_from};

const SAGA: &str = "
workflow: saga
version: 1.0.0
steps:
  - { key: a, action: ok, compensation: { action: hold } }
  - { key: b, action: ok, compensation: { action: hold } }
  - { key: c, action: ok, compensation: { action: hold } }
  - { key: d, action: hold }
";

/// It is a decision about a workflow that failed, on record, and refused while it goes on.
pub async fn it_is_triggered_by_resolution() {
    let mut stage = Stage::new().await;
    let id = stage.run(SAGA, json!({})).await;
    let refused = stage.resolve(id, from_step("b")).await.expect_err("it is refused");
    assert!(refused.contains("it is running; it is done again when it has failed or is paused"), "{refused}");
    stage.fail(id, "d").await;
    stage.resolve(id, from_step("b")).await.expect("it failed");
    assert_eq!(stage.flow(id), "running: a C, b U, b C, c U, c C, d U, d R");
    let sources: Vec<Option<RetrySource>> = stage
        .browse()
        .workflow_steps(id)
        .expect("a read")
        .iter()
        .map(|row| row.detail.retry_source)
        .collect();
    let again = Some(RetrySource::RetryFromStep);
    assert_eq!(sources, [None, None, again, None, again, None, again]);
    stage.done(id, "d").await;
    assert_eq!(stage.decided(id), ["retry_from_step by test"]);
    let refused = stage.resolve(id, from_step("b")).await.expect_err("it is refused");
    assert!(refused.contains("it succeeded; say so"), "{refused}");
}

/// What was done behind the step is undone, backwards, and only then it is done again from there.
pub async fn it_can_compensate_first() {
    let mut stage = Stage::new().await;
    let id = stage.run(SAGA, json!({})).await;
    stage.fail(id, "d").await;
    stage.resolve(id, undo_then_from("a")).await.expect("it failed");
    assert_eq!(stage.undoing(id), "c running, b pending");
    stage.done(id, "c:compensation").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensating, "b is not undone yet");
    assert!(
        stage.flow(id).contains("a C, b C, c C, d F"),
        "nothing is done again before: {}",
        stage.flow(id)
    );
    stage.crash().await;
    stage.settle().await;
    stage.done(id, "b:compensation").await;
    assert_eq!(stage.undoing(id), "c succeeded, b succeeded");
    assert!(
        stage.flow(id).starts_with("running: a U, a C, b U, b C, c U, c C, d U, d R"),
        "{}",
        stage.flow(id)
    );
    stage.done(id, "d").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Succeeded);
}

const WAYS: &str = "
workflow: ways
version: 1.0.0
steps:
  - { key: look, action: hold }
  - key: route
    branch: { choose: outputs.look.way, branches: { left: [l, m], right: [r] }, converge: meet }
  - { key: l, action: ok }
  - { key: m, action: ok }
  - { key: r, action: ok }
  - { key: meet, action: hold }
";

/// Behind the choice it stays on the way that was taken; before it, the choice is made again.
pub async fn it_respects_the_structure_of_branches() {
    let mut stage = Stage::new().await;
    let id = stage.run(WAYS, json!({})).await;
    stage.done_with(id, "look", r#"{"way":"left"}"#).await;
    stage.fail(id, "meet").await;
    stage.resolve(id, from_step("m")).await.expect("it failed");
    assert_eq!(
        stage.flow(id),
        "running: look C, route C, l C, m U, m C, r K not_on_active_branch, meet U, meet R",
        "what stands before it on its way, and the other way, stay as they are"
    );
    let choices = |stage: &Stage| stage.browse().branch_decisions(id).expect("a read").len();
    assert_eq!(choices(&stage), 1);
    stage.fail(id, "meet").await;
    stage.resolve(id, from_step("route")).await.expect("it failed");
    assert_eq!(choices(&stage), 2, "from the choice on it is made again");
    stage.fail(id, "meet").await;
    stage.resolve(id, from_step("look")).await.expect("it failed");
    stage.done_with(id, "look", r#"{"way":"right"}"#).await;
    stage.done(id, "meet").await;
    let flow = stage.flow(id);
    assert!(flow.starts_with("succeeded: ") && flow.contains("m K not_on_active_branch"), "{flow}");
    assert!(flow.ends_with("meet C") && flow.contains("r C"), "{flow}");
}

const ASKS: &str = "
workflow: asks
version: 1.0.0
steps:
  - { key: order, action: ok }
  - { key: paid, poll: { action: poll, arguments: [continue, continue, complete], interval: 60s } }
  - { key: ship, action: hold }
";

/// A poll that is done again is polled from the start, with all its polls and all its time.
pub async fn it_can_begin_at_a_poll() {
    let mut stage = Stage::new().await;
    let id = stage.run(ASKS, json!({})).await;
    pass(&mut stage, 60, 2).await;
    stage.fail(id, "ship").await;
    let first = stage.step_of(id, "paid");
    stage.resolve(id, from_step("paid")).await.expect("it failed");
    assert_eq!(stage.flow(id), "running: order C, paid U, paid O, ship U");
    let second = stage.step_of(id, "paid");
    let polls = |stage: &Stage, step| stage.step(step).step.polls;
    assert_eq!((polls(&stage, first), polls(&stage, second)), (3, 1));
    assert_eq!(stage.step(first).detail.superseded_by, Some(second));
    stage.crash().await;
    stage.settle().await;
    pass(&mut stage, 60, 2).await;
    assert_eq!(stage.flow(id), "running: order C, paid U, paid C, ship U, ship R");
    stage.fail(id, "ship").await;
    stage.resolve(id, from_step("order")).await.expect("also from before it");
    assert_eq!(stage.flow(id), "running: order U, order C, paid U, paid U, paid O, ship U, ship U");
}

const APPROVED: &str = "
workflow: approved
version: 1.0.0
steps:
  - { key: first, action: ok }
  - { key: ask, action: ok, pause_after: { trigger: boss } }
  - { key: end, action: hold, arguments: \"${outputs.boss}\" }
";

/// From the step before a pause somebody is asked again, and what was said before counts no more.
pub async fn it_can_begin_before_a_pause() {
    let mut stage = Stage::new().await;
    let id = stage.run(APPROVED, json!({})).await;
    assert_eq!(stage.trigger(id, "boss", json!("old")).await, A::Accepted);
    stage.settle().await;
    stage.fail(id, "end").await;
    stage.resolve(id, from_step("end")).await.expect("from behind the pause");
    assert_eq!(stage.pauses(id), ["ask 1 resumed"], "nobody is asked again");
    assert_eq!(&*stage.step(stage.step_of(id, "end")).step.arguments, "\"old\"");
    stage.fail(id, "end").await;
    stage.resolve(id, from_step("first")).await.expect("from before it");
    assert_eq!(stage.pauses(id), ["ask 1 resumed", "ask 2 waiting"]);
    assert_eq!(stage.workflow(id).state, WorkflowState::Paused);
    stage.crash().await;
    stage.settle().await;
    stage.resolve(id, from_step("ask")).await.expect("a paused one, too");
    assert_eq!(stage.pauses(id), ["ask 1 resumed", "ask 2 cancelled", "ask 3 waiting"]);
    assert_eq!(stage.trigger(id, "boss", json!("new")).await, A::Accepted);
    stage.settle().await;
    assert_eq!(&*stage.step(stage.step_of(id, "end")).step.arguments, "\"new\"");
    stage.done(id, "end").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Succeeded);
}
