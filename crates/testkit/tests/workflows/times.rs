//! Waits and time limits.

use model::{State, WorkflowState};
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::Stage;

#[tokio::test]
async fn a_wait_ends_by_itself_also_after_a_crash() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: rest
version: 1.0.0
steps:
  - { key: rest, wait: 10m }
  - { key: end, action: ok }
";
    let id = stage.run(yaml, json!({})).await;
    assert_eq!(stage.flow(id), "running: rest P");
    stage.advance(Duration::from_secs(300)).await;
    stage.crash().await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "running: rest P");
    stage.advance(Duration::from_secs(301)).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: rest C, end C");
}

#[tokio::test]
async fn a_wait_may_end_at_a_time_that_the_input_tells() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: until
version: 1.0.0
steps:
  - { key: rest, wait: { until: \"input.at\" } }
";
    stage.define(yaml).await;
    let at = stage.clock_now() + Duration::from_secs(90);
    let id = stage.start("until", json!({"at": at.0 as f64 / 1e6})).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "running: rest P");
    stage.advance(Duration::from_secs(91)).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: rest C");
    let past = stage.start("until", json!({"at": "2001-01-01T00:00:00Z"})).await;
    stage.settle().await;
    assert_eq!(stage.flow(past), "succeeded: rest C");
    let wrong = stage.start("until", json!({"at": "soon"})).await;
    stage.settle().await;
    assert_eq!(stage.flow(wrong), "failed: rest F");
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_is_done_again_and_in_the_end_times_out() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: slow
version: 1.0.0
steps:
  - { key: a, action: hold, timeout: 20s, retry: { attempts: 2, delay: 1s } }
";
    let id = stage.run(yaml, json!({})).await;
    let a = stage.step_of(id, "a");
    stage.advance(Duration::from_secs(21)).await;
    stage.settle().await;
    let row = stage.step(a);
    assert_eq!((row.step.state, row.step.failed_attempts), (State::Pending, 1));
    assert_eq!(row.detail.error_message.as_deref(), Some("attempt 1 took longer than 20s"));
    stage.advance(Duration::from_secs(2)).await;
    stage.settle().await;
    assert_eq!(stage.step(a).step.attempt, 2);
    stage.crash().await;
    stage.settle().await;
    assert_eq!(stage.step(a).step.attempt, 3, "a lost attempt does not count");
    stage.advance(Duration::from_secs(21)).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "failed: a T");
    let late = stage.report(stage.session.id, a, 3, model::Outcome::Complete { response: None }).await;
    assert_eq!(late, engine::ReportAnswer::Late);
}

#[tokio::test]
async fn a_step_and_a_workflow_have_limits_of_their_own() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: step-limit
version: 1.0.0
steps:
  - { key: a, action: retry, timeout: { step: 1m }, retry: { attempts: 100, delay: 25s } }
";
    let id = stage.run(yaml, json!({})).await;
    for _ in 0..3 {
        stage.advance(Duration::from_secs(26)).await;
        stage.settle().await;
    }
    assert_eq!(stage.flow(id), "failed: a T");
    assert_eq!(
        stage.workflow(id).message.as_deref(),
        Some("step `a` timed out: the step took longer than 1m")
    );
    let yaml = "
workflow: whole-limit
version: 1.0.0
timeout: 1h
steps:
  - { key: a, wait: 40m }
  - { key: b, wait: 40m }
";
    let id = stage.run(yaml, json!({})).await;
    stage.crash().await;
    stage.advance(Duration::from_secs(3601)).await;
    stage.settle().await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Failed);
    assert_eq!(stage.workflow(id).message.as_deref(), Some("it took longer than 1h"));
}
