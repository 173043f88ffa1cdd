//! Workflows that start workflows.

use engine::WorkflowVerb as V;
use model::{Outcome, WorkflowState};
use serde_json::json;
use stepfast_testkit::Stage;

const OUTER: &str = "
workflow: outer
version: 1.0.0
steps:
  - { key: sub, workflow: inner, input: { n: \"${input.n}\" } }
  - { key: end, action: echo, arguments: \"${outputs.sub}\" }
";
const INNER: &str = "
workflow: inner
version: 1.0.0
steps:
  - { key: work, action: hold }
";

async fn begun(stage: &mut Stage) -> (model::WorkflowId, model::WorkflowId) {
    stage.define(INNER).await;
    let outer = stage.run(OUTER, json!({"n": 5})).await;
    let step = stage.step_of(outer, "sub");
    let inner = stage.browse().workflow_below(step).expect("a read").expect("it was started");
    (outer, inner)
}

#[tokio::test]
async fn the_end_of_one_is_the_answer_of_the_other() {
    let mut stage = Stage::new().await;
    let (outer, inner) = begun(&mut stage).await;
    assert_eq!(stage.flow(outer), "running: sub R");
    assert_eq!(&*stage.workflow(inner).input, "{\"n\":5}");
    stage.crash().await;
    stage.settle().await;
    let step = stage.step_of(inner, "work");
    let response = Some("{\"done\":1}".into());
    stage.report(stage.session.id, step, 2, Outcome::Complete { response }).await;
    stage.settle().await;
    assert_eq!(stage.flow(inner), "succeeded: work C");
    assert_eq!(stage.flow(outer), "succeeded: sub C, end C");
    assert_eq!(stage.workflow(outer).output.as_deref(), Some("{\"done\":1}"));
}

#[tokio::test]
async fn failure_climbs_and_cancelling_falls() {
    let mut stage = Stage::new().await;
    let (outer, inner) = begun(&mut stage).await;
    let step = stage.step_of(inner, "work");
    let failure = model::Failure { message: "broken".into(), trace: None };
    stage.report(stage.session.id, step, 1, Outcome::Fail { failure, notify: true }).await;
    stage.settle().await;
    assert_eq!(stage.flow(outer), "failed: sub F");
    let message = stage.workflow(outer).message.unwrap();
    assert!(message.contains("(inner) failed: step `work` failed: broken"), "{message}");

    let (outer, inner) = begun(&mut stage).await;
    stage.operate_workflow(outer, V::Cancel).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.flow(outer), "cancelled: sub X workflow_cancelled");
    assert_eq!(stage.flow(inner), "cancelled: work X workflow_cancelled");

    let (outer, inner) = begun(&mut stage).await;
    stage.operate_workflow(inner, V::Cancel).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.flow(outer), "failed: sub X children_cancelled");
}

#[tokio::test]
async fn pausing_and_resuming_reach_what_is_below() {
    let mut stage = Stage::new().await;
    let (outer, inner) = begun(&mut stage).await;
    stage.operate_workflow(outer, V::Pause).await.unwrap();
    assert_eq!(stage.workflow(inner).state, WorkflowState::Paused);
    stage.operate_workflow(outer, V::Resume).await.unwrap();
    assert_eq!(stage.workflow(inner).state, WorkflowState::Running);
}

#[tokio::test]
async fn what_starts_itself_ends_at_the_limit() {
    let mut stage = Stage::new().await;
    let other = |name: &str, of: &str| {
        format!("workflow: {name}\nversion: 1.0.0\nsteps:\n  - {{ key: again, workflow: {of} }}\n")
    };
    stage.define(&other("there", "back")).await;
    let id = stage.run(&other("back", "there"), json!({})).await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Failed);
    let missing = "
workflow: missing
version: 1.0.0
steps:
  - { key: sub, workflow: nobody }
";
    let id = stage.run(missing, json!({})).await;
    assert_eq!(
        stage.workflow(id).message.as_deref(),
        Some("step `sub` failed: there is no definition `nobody`")
    );
}
