//! Pauses that ask by themselves whether they may go on.

use engine::WorkflowVerb as V;
use model::{Decision, Reason, RetryMode, State, WorkflowId};
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::Stage;
use store::PollFilter;

/// A step whose pause polls with these options, and one that reads what ended it. Its third answer is the one.
fn billed(options: &str) -> String {
    format!(
        "
workflow: bill
version: 1.0.0
steps:
  - key: send
    action: echo
    when: input.send
    pause_after:
      poll: {{ action: poll, arguments: \"${{input.says}}\", interval: 60s }}
      resume_when: payload.polls >= 3 && outputs.send.send
{options}
  - {{ key: book, action: echo, arguments: \"${{outputs[?'send:poll'].orValue('nothing')}}\" }}
"
    )
}

async fn pass(stage: &mut Stage, seconds: u64) {
    stage.advance(Duration::from_secs(seconds)).await;
    stage.settle().await;
}

fn answer(stage: &Stage, id: WorkflowId, key: &str) -> String {
    stage.step(stage.step_of(id, key)).detail.response.unwrap_or_default()
}

#[tokio::test]
async fn it_goes_on_when_an_answer_is_the_one_it_waits_for() {
    let mut stage = Stage::new().await;
    let id = stage.run(&billed(""), json!({"send": true, "says": ["complete"]})).await;
    assert_eq!(stage.flow(id), "running: send C, send:poll O");
    let waiting = stage.browse().polling(&PollFilter { limit: 10, ..PollFilter::default() }).unwrap();
    assert_eq!(waiting.len(), 1, "it is listed with all other polls");
    assert_eq!(waiting[0].step.id, stage.step_of(id, "send:poll"));
    stage.crash().await;
    pass(&mut stage, 60).await;
    assert_eq!(stage.flow(id), "running: send C, send:poll O");
    pass(&mut stage, 60).await;
    assert_eq!(stage.flow(id), "succeeded: send C, book C, send:poll C");
    let book = serde_json::from_str::<serde_json::Value>(&answer(&stage, id, "book")).unwrap();
    assert_eq!(book["polls"], json!(3), "what ended it is an output");
    assert_eq!(stage.browse().polls(stage.step_of(id, "send:poll")).unwrap().len(), 3, "each was made once");
}

#[tokio::test]
async fn behind_a_step_that_was_not_done_nothing_is_asked() {
    let mut stage = Stage::new().await;
    let id = stage.run(&billed(""), json!({"send": false, "says": ["complete"]})).await;
    assert_eq!(stage.flow(id), "succeeded: send K condition_false, book C, send:poll K condition_false");
    assert_eq!(answer(&stage, id, "book"), "\"nothing\"");
    let failing =
        billed("    on_failure: skip_step").replace("action: echo\n    when", "action: fail\n    when");
    let id = stage
        .run(&failing.replace("workflow: bill", "workflow: fails"), json!({"send": true, "says": []}))
        .await;
    assert_eq!(stage.flow(id), "succeeded: send F, book C, send:poll K condition_false");
}

#[tokio::test]
async fn its_time_ends_it_as_other_pauses() {
    let mut stage = Stage::new().await;
    let input = json!({"send": true, "says": ["continue"]});
    let id = stage.run(&billed("      timeout: 100s"), input.clone()).await;
    pass(&mut stage, 60).await;
    pass(&mut stage, 41).await;
    assert_eq!(stage.flow(id), "failed: send C, send:poll T");
    let reason = stage.step(stage.step_of(id, "send:poll")).step.reason;
    assert_eq!(reason, Some(Reason::PollTimedOut));
    let approves = "      timeout: 100s\n      on_timeout: auto_approve\n      default: { polls: 0 }";
    let yaml = billed(approves).replace("workflow: bill", "workflow: approves");
    let id = stage.run(&yaml, input).await;
    pass(&mut stage, 60).await;
    pass(&mut stage, 41).await;
    assert_eq!(stage.flow(id), "succeeded: send C, book C, send:poll C");
    assert_eq!(answer(&stage, id, "book"), r#"{"polls":0}"#);
}

#[tokio::test]
async fn done_again_the_step_asks_again() {
    let mut stage = Stage::new().await;
    let id = stage.run(&billed(""), json!({"send": true, "says": ["complete", "abort"]})).await;
    pass(&mut stage, 60).await;
    assert_eq!(stage.flow(id), "failed: send C, send:poll F");
    let decision = Decision::RetryFromStep {
        step: "send".into(),
        mode: RetryMode::RetryOnly,
        include_step: false,
        force: false,
        items: None,
    };
    stage.operate_workflow(id, V::Resolve(decision)).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.flow(id), "running: send U, send C, send:poll U, send:poll O");
    stage.operate_workflow(id, V::Cancel).await.unwrap();
    stage.settle().await;
    let poll = stage.step(stage.step_of(id, "send:poll")).step;
    assert_eq!((poll.state, poll.wake_at), (State::Cancelled, None), "nothing is asked any more");
}

#[tokio::test]
async fn held_it_asks_nothing() {
    let mut stage = Stage::new().await;
    let id = stage.run(&billed(""), json!({"send": true, "says": ["complete"]})).await;
    stage.operate_workflow(id, V::Pause).await.unwrap();
    pass(&mut stage, 600).await;
    let poll = stage.step_of(id, "send:poll");
    assert_eq!(stage.step(poll).step.polls, 1);
    stage.operate_workflow(id, V::Resume).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.step(poll).step.polls, 2, "resumed, it asks at once");
}
