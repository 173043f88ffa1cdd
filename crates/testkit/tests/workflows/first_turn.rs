//! A workflow that fails or pauses in the very turn that made it: what follows is on disk with it, so that a crash changes nothing.
//!
//! Why    a new row was stored without what came of its failure and without why it is paused. After a crash such a workflow was never
//!        retried, undone or let go on.

use model::{PausedBy, TriggerAnswer as A, WorkflowState};
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::Stage;

/// Its first step is a choice, which is made at once; without a way it cannot be made.
fn chooses(name: &str, head: &str, behind: &str) -> String {
    format!(
        "
workflow: {name}
version: 1.0.0
{head}
steps:
  - key: route
    branch: {{ choose: input.way, branches: {{ left: [l], right: [r] }}, converge: end }}
    {behind}
  - {{ key: l, action: ok }}
  - {{ key: r, action: ok }}
  - {{ key: end, action: ok, compensation: {{ action: ok }} }}
"
    )
}

#[tokio::test]
async fn paused_in_its_first_turn_it_goes_on_after_a_crash() {
    let mut stage = Stage::new().await;
    stage.define(&chooses("asked", "", "pause_after: { trigger: go, timeout: 1h }")).await;
    let id = stage.start("asked", json!({"way": "left"})).await;
    stage.crash().await;
    let workflow = stage.workflow(id);
    assert_eq!((workflow.state, workflow.paused_by), (WorkflowState::Paused, Some(PausedBy::Trigger)));
    assert_eq!(stage.trigger(id, "go", json!(1)).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: route C, l C, r K not_on_active_branch, end C");
    let late = stage.start("asked", json!({"way": "left"})).await;
    stage.crash().await;
    stage.leap(Duration::from_secs(3_700)).await;
    assert_eq!(
        (stage.workflow(late).state, stage.pauses(late)),
        (WorkflowState::Failed, vec!["route 1 timed_out".to_string()])
    );
}

#[tokio::test]
async fn failed_in_its_first_turn_it_is_retried_after_a_crash() {
    let mut stage = Stage::new().await;
    let retry = "on_failure: { strategy: auto_retry, max_retries: 1, delay: 60s }";
    stage.define(&chooses("retried", retry, "")).await;
    let id = stage.start("retried", json!({})).await;
    stage.crash().await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "failed: route F");
    stage.leap(Duration::from_secs(61)).await;
    assert_eq!(stage.flow(id), "failed: route U, route F", "once, and that was the last");
    assert_eq!(stage.decided(id), ["retry by strategy"]);
}

#[tokio::test]
async fn failed_in_its_first_turn_it_is_undone_after_a_crash() {
    let mut stage = Stage::new().await;
    stage.define(&chooses("undone", "on_failure: auto_compensate", "")).await;
    let id = stage.start("undone", json!({})).await;
    stage.crash().await;
    stage.leap(Duration::from_secs(16)).await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Compensated, "there was nothing to undo");
    assert_eq!(stage.decided(id), ["compensate by strategy"]);
}
