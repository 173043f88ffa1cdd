//! One step for each item of a list.

use model::{Outcome, State, WorkflowState};
use serde_json::json;
use stepfast_testkit::Stage;

fn each(more: &str, action: &str) -> String {
    format!(
        "
workflow: each
version: 1.0.0
steps:
  - key: all
    action: {action}
    each: \"input.items\"
    arguments: {{ i: \"${{index}}\", v: \"${{item}}\" }}
{more}
  - {{ key: end, action: ok }}
"
    )
}

#[tokio::test]
async fn every_item_is_done_and_the_answers_are_gathered_in_order() {
    let mut stage = Stage::new().await;
    let id = stage.run(&each("", "echo"), json!({"items": ["x", "y", "z"]})).await;
    assert_eq!(stage.flow(id), "succeeded: all C, end C");
    let response = stage.step(stage.step_of(id, "all")).detail.response;
    assert_eq!(response.as_deref(), Some(r#"[{"i":0,"v":"x"},{"i":1,"v":"y"},{"i":2,"v":"z"}]"#));
    let empty = stage.start("each", json!({"items": []})).await;
    stage.settle().await;
    assert_eq!(stage.flow(empty), "succeeded: all C, end C", "nothing to do is done");
    assert_eq!(stage.step(stage.step_of(empty, "all")).detail.response.as_deref(), Some("[]"));
    let wrong = stage.start("each", json!({"items": "x"})).await;
    stage.settle().await;
    assert_eq!(stage.flow(wrong), "failed: all F");
}

#[tokio::test]
async fn only_so_many_items_are_in_hand_at_once() {
    let mut stage = Stage::new().await;
    stage.define(&each("    max_parallel: 2", "hold")).await;
    let id = stage.start("each", json!({"items": [1, 2, 3, 4, 5]})).await;
    stage.settle().await;
    let all = stage.step_of(id, "all");
    let block = stage.step(all).step.child_block.unwrap();
    for done in 0..5 {
        let items = stage.browse().items(block, None, 100).unwrap();
        let running: Vec<_> = items.iter().filter(|r| r.step.state == State::Running).collect();
        assert_eq!(running.len(), 2.min(5 - done), "after {done}");
        assert_eq!(items.len(), (done + 2).min(5));
        let step = &running[0].step;
        let response = Some(done.to_string());
        stage.report(stage.session.id, step.id, step.attempt, Outcome::Complete { response }).await;
        stage.settle().await;
    }
    assert_eq!(stage.flow(id), "succeeded: all C, end C");
    assert_eq!(stage.step(all).detail.response.as_deref(), Some("[0,1,2,3,4]"));
}

#[tokio::test]
async fn a_fan_out_goes_on_after_a_crash_at_any_item() {
    let mut stage = Stage::new().await;
    stage.define(&each("    max_parallel: 3", "echo")).await;
    let id = stage.start("each", json!({"items": (0..10).collect::<Vec<u32>>()})).await;
    for _ in 0..8 {
        stage.tick(rules::settle::Mode::FixedPoint).await;
        stage.crash().await;
    }
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: all C, end C");
    let response = stage.step(stage.step_of(id, "all")).detail.response.unwrap();
    let expected: Vec<_> = (0..10).map(|n| json!({"i": n, "v": n})).collect();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&response).unwrap(), json!(expected));
}

#[tokio::test]
async fn success_is_what_the_definition_says() {
    let cases = [
        ("", "failed: all F"),
        ("    success: best_effort", "succeeded: all C, end C"),
        ("    success: majority", "succeeded: all C, end C"),
        ("    success: { at_least: 3 }", "failed: all F"),
        ("    on_failure: continue_with_partial", "succeeded: all F, end C"),
    ];
    let sold_out = model::Failure { message: "sold out".into(), trace: None };
    for (more, expected) in cases {
        let mut stage = Stage::new().await;
        stage.define(&each(more, "hold")).await;
        let id = stage.start("each", json!({"items": [1, 2, 3]})).await;
        stage.settle().await;
        let block = stage.step(stage.step_of(id, "all")).step.child_block.unwrap();
        for row in stage.browse().items(block, None, 10).unwrap() {
            let outcome = match row.step.in_workflow.unwrap().item {
                Some(1) => Outcome::Fail { failure: sold_out.clone(), notify: true },
                item => Outcome::Complete { response: item.map(|n| n.to_string()) },
            };
            stage.report(stage.session.id, row.step.id, row.step.attempt, outcome).await;
        }
        stage.settle().await;
        assert_eq!(stage.flow(id), expected, "{more}");
        if expected.starts_with("failed") {
            let message = stage.workflow(id).message.unwrap();
            assert!(message.ends_with("; the first said: sold out"), "{message}");
        }
        if more.contains("partial") {
            let answer = stage.step(stage.step_of(id, "all")).detail.response;
            assert_eq!(answer.as_deref(), Some("[0,null,2]"));
        }
    }
}

#[tokio::test]
async fn many_items_are_made_by_pages() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: many
version: 1.0.0
steps:
  - { key: all, action: quiet, each: \"input.n\", gather: counts }
";
    stage.define(yaml).await;
    let id = stage.start("many", json!({"n": 2_500})).await;
    for _ in 0..20 {
        stage.tick(rules::settle::Mode::FixedPoint).await;
    }
    assert_eq!(stage.flow(id), "succeeded: all C");
    let output = stage.workflow(id).output;
    assert_eq!(output.as_deref(), Some(r#"{"items":2500,"completed":2500,"failed":0}"#));
    let too_many = stage.start("many", json!({"n": 1_000_001})).await;
    stage.settle().await;
    assert_eq!(stage.workflow(too_many).state, WorkflowState::Failed);
    assert!(stage.workflow(too_many).message.unwrap().contains("at most 1000000 (items)"));
}

#[tokio::test]
async fn an_item_whose_arguments_cannot_be_made_fails_alone() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: odd
version: 1.0.0
steps:
  - { key: all, action: echo, each: \"input.items\", arguments: { v: \"${item.v}\" }, success: best_effort }
";
    let id = stage.run(yaml, json!({"items": [{"v": 1}, {}, {"v": 3}]})).await;
    assert_eq!(stage.flow(id), "succeeded: all C");
    let output = stage.workflow(id).output;
    assert_eq!(output.as_deref(), Some(r#"[{"v":1},null,{"v":3}]"#));
}

#[tokio::test]
async fn a_whole_fan_out_may_be_done_again() {
    let mut stage = Stage::new().await;
    let more = "    retry: { attempts: 2, delay: 30s, scope: all }";
    stage.define(&each(more, "fail")).await;
    let id = stage.start("each", json!({"items": [1, 2]})).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "running: all U, all P");
    stage.crash().await;
    stage.advance(std::time::Duration::from_secs(31)).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "failed: all U, all F");
}

#[tokio::test]
async fn items_of_one_message_group_are_done_in_order() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: lines
version: 1.0.0
steps:
  - { key: all, action: hold, each: \"input.items\", message_group: \"'c-' + item\", mode: block_on_error }
  - { key: one, action: hold, message_group: \"'c-a'\", mode: next_on_error }
  - { key: end, action: echo, arguments: \"${outputs.one}\" }
";
    stage.define(yaml).await;
    let id = stage.start("lines", json!({"items": ["a", "a", "b"]})).await;
    // What has joined its line can be read once that is durable.
    stage.decide(rules::settle::Mode::FixedPoint).await;
    stage.settle().await;
    let running = |stage: &Stage| -> Vec<(model::StepId, u32)> {
        let filter =
            store::Filter { states: vec![State::Running], ascending: true, limit: 10, ..Default::default() };
        let rows = stage.browse().steps(&filter).unwrap();
        rows.iter().filter(|r| !r.step.parked).map(|r| (r.step.id, r.step.attempt)).collect()
    };
    assert_eq!(running(&stage).len(), 2, "one of each message group");
    for _ in 0..4 {
        for (step, attempt) in running(&stage) {
            let response = Some("7".to_string());
            stage.report(stage.session.id, step, attempt, Outcome::Complete { response }).await;
        }
        stage.decide(rules::settle::Mode::FixedPoint).await;
        stage.settle().await;
    }
    assert_eq!(stage.flow(id), "succeeded: all C, one C, end C");
    assert_eq!(stage.workflow(id).output.as_deref(), Some("7"));
}

/// Found in review: the block of a fan-out counted as ended with its first failed item, so no further item was made.
#[tokio::test]
async fn items_are_made_whatever_became_of_those_before_them() {
    let mut stage = Stage::new().await;
    stage.define(&each("    max_parallel: 2\n    success: best_effort", "hold")).await;
    let id = stage.start("each", json!({"items": [1, 2, 3, 4, 5]})).await;
    stage.settle().await;
    let block = stage.step(stage.step_of(id, "all")).step.child_block.unwrap();
    for _ in 0..5 {
        let items = stage.browse().items(block, None, 100).unwrap();
        let step = items.iter().find(|r| r.step.state == State::Running).unwrap().step.clone();
        let outcome = match step.in_workflow.unwrap().item {
            Some(0 | 3) => Outcome::Fail { failure: Default::default(), notify: true },
            _ => Outcome::Complete { response: None },
        };
        stage.report(stage.session.id, step.id, step.attempt, outcome).await;
        stage.settle().await;
    }
    assert_eq!(stage.flow(id), "succeeded: all C, end C");
    assert_eq!(stage.browse().items(block, None, 100).unwrap().len(), 5);
}

/// Found in review: a million items were one turn.
#[tokio::test]
async fn a_turn_makes_one_page_of_items() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: pages
version: 1.0.0
steps:
  - { key: all, action: hold, each: \"input.n\", gather: counts }
";
    stage.define(yaml).await;
    let id = stage.start("pages", json!({"n": 3_500})).await;
    let block = stage.step(stage.step_of(id, "all")).step.child_block.unwrap();
    let to_come = |stage: &Stage| stage.browse().block(block).unwrap().unwrap().to_come;
    for left in [2_500, 1_500, 500, 0] {
        assert_eq!(to_come(&stage), left);
        stage.decide(rules::settle::Mode::FixedPoint).await;
    }
    stage.operate_workflow(id, engine::WorkflowVerb::Cancel).await.unwrap();
    for _ in 0..6 {
        stage.decide(rules::settle::Mode::FixedPoint).await;
    }
    assert!(stage.flow(id).starts_with("cancelled: all X"), "{}", stage.flow(id));
}

/// Found in review: the step that was to be done again was a ready step for any worker, and began before its time.
#[tokio::test]
async fn a_fan_out_that_waits_to_be_done_again_is_nobodys_work() {
    let mut stage = Stage::new().await;
    let more = "    retry: { attempts: 3, delay: 30s, scope: all }";
    stage.define(&each(more, "fail")).await;
    let id = stage.start("each", json!({"items": [1, 2]})).await;
    stage.settle().await;
    stage.operate_workflow(id, engine::WorkflowVerb::Pause).await.unwrap();
    stage.crash().await;
    stage.advance(std::time::Duration::from_secs(60)).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "paused: all U, all P");
    stage.operate_workflow(id, engine::WorkflowVerb::Resume).await.unwrap();
    stage.settle().await;
    stage.advance(std::time::Duration::from_secs(1)).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "running: all U, all U, all P");
    let filter = store::Filter { action: Some("fail".into()), limit: 100, ..Default::default() };
    let items = stage.browse().steps(&filter).unwrap();
    assert_eq!(items.len(), 4, "two runs of two items");
    assert!(items.iter().all(|row| row.step.attempt == 1), "each item is tried once a run");
}
