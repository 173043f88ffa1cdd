//! Steps one after another and as a graph: what they are given, what they answer, and what failure means.

use engine::EngineError;
use model::WorkflowState;
use serde_json::json;
use stepfast_testkit::Stage;

const THREE: &str = "
workflow: three
version: 1.0.0
steps:
  - { key: a, action: echo, arguments: { n: \"${input.n + 1}\" } }
  - { key: b, action: echo, arguments: { n: \"${outputs.a.n * 10}\" } }
  - { key: c, action: echo, arguments: \"sum ${outputs.a.n + outputs.b.n}\" }
";

#[tokio::test]
async fn steps_follow_each_other_and_read_what_was_answered() {
    let mut stage = Stage::new().await;
    let id = stage.run(THREE, json!({"n": 1})).await;
    assert_eq!(stage.flow(id), "succeeded: a C, b C, c C");
    assert_eq!(stage.workflow(id).output.as_deref(), Some("\"sum 22\""));
    assert_eq!(stage.told(id), ["workflow.started", "workflow.succeeded"]);
}

#[tokio::test]
async fn a_workflow_goes_on_after_a_crash_at_any_step() {
    let mut stage = Stage::new().await;
    stage.define(THREE).await;
    let id = stage.start("three", json!({"n": 1})).await;
    for _ in 0..5 {
        stage.tick(rules::settle::Mode::FixedPoint).await;
        stage.crash().await;
    }
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: a C, b C, c C");
    assert_eq!(stage.workflow(id).output.as_deref(), Some("\"sum 22\""));
}

#[tokio::test]
async fn a_graph_waits_for_all_before_it() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: diamond
version: 1.0.0
steps:
  - { key: a, action: ok }
  - { key: b, action: hold, after: [a] }
  - { key: c, action: ok, after: [a] }
  - { key: d, action: echo, arguments: { from: \"${outputs.c.ok}\" }, after: [b, c] }
";
    let id = stage.run(yaml, json!({})).await;
    assert_eq!(stage.flow(id), "running: a C, b R, c C");
    let b = stage.step_of(id, "b");
    stage.report(stage.session.id, b, 1, model::Outcome::Complete { response: None }).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: a C, b C, c C, d C");
    assert_eq!(stage.workflow(id).output.as_deref(), Some("{\"from\":true}"));
}

#[tokio::test]
async fn a_failed_step_fails_the_workflow_and_says_why() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: bad
version: 1.0.0
steps:
  - { key: a, action: fail }
  - { key: b, action: ok }
";
    let id = stage.run(yaml, json!({})).await;
    assert_eq!(stage.flow(id), "failed: a F");
    assert_eq!(stage.workflow(id).message.as_deref(), Some("step `a` failed: fail it did"));
    assert_eq!(stage.told(id), ["workflow.started", "workflow.failed", "workflow.awaiting_resolution"]);
}

#[tokio::test]
async fn a_step_may_be_done_without() {
    let mut stage = Stage::new().await;
    for policy in ["skip_step", "continue_with_partial"] {
        let yaml = format!(
            "
workflow: {}
version: 1.0.0
steps:
  - {{ key: a, action: fail, on_failure: {policy} }}
  - {{ key: b, action: ok }}
",
            policy.replace('_', "-")
        );
        let id = stage.run(&yaml, json!({})).await;
        assert_eq!(stage.flow(id), "succeeded: a F, b C");
    }
}

#[tokio::test]
async fn an_expression_that_errs_fails_its_step_and_says_so() {
    let mut stage = Stage::new().await;
    let id = stage.run(THREE, json!({"m": 1})).await;
    assert_eq!(stage.flow(id), "failed: a F");
    let message = stage.by_key("a").detail.error_message.unwrap();
    assert!(message.contains("input.n"), "{message}");
}

#[tokio::test]
async fn an_answer_of_another_shape_fails_its_step() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: shaped
version: 1.0.0
input: { schema: { type: object, required: [n] } }
steps:
  - { key: a, action: echo, arguments: { n: \"${input.n}\" },
      produces: { schema: { type: object, properties: { n: { type: integer } } } } }
";
    let id = stage.run(yaml, json!({"n": 1})).await;
    assert_eq!(stage.flow(id), "succeeded: a C");
    let id = stage.start("shaped", json!({"n": "x"})).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "failed: a F");
    let refused = stage.try_start("shaped", json!({})).await.unwrap_err();
    assert!(matches!(&refused, EngineError::Invalid(faults) if faults[0].field == "input"), "{refused}");
    assert!(matches!(stage.try_start("nobody", json!({})).await, Err(EngineError::NoDefinition(_))));
}

#[tokio::test]
async fn a_workflow_is_pinned_to_its_version() {
    let mut stage = Stage::new().await;
    let version = |n: u32, key: &str| {
        format!(
            "workflow: pinned\nversion: 1.0.{n}\nsteps:\n  - {{ key: first, action: hold }}\n  - {{ key: {key}, action: ok }}\n"
        )
    };
    stage.define(&version(9, "old")).await;
    let old = stage.start("pinned", json!({})).await;
    assert_eq!(stage.define(&version(9, "old")).await, engine::Applied::Unchanged);
    stage.define(&version(10, "new")).await;
    let new = stage.start("pinned", json!({})).await;
    stage.settle().await;
    stage.crash().await;
    stage.settle().await;
    for id in [old, new] {
        let step = stage.step_of(id, "first");
        let attempt = stage.step(step).step.attempt;
        stage.report(stage.session.id, step, attempt, model::Outcome::Complete { response: None }).await;
    }
    stage.settle().await;
    assert_eq!(stage.flow(old), "succeeded: first C, old C");
    assert_eq!(stage.flow(new), "succeeded: first C, new C", "1.0.10 is newer than 1.0.9");
}

#[tokio::test]
async fn a_workflow_without_steps_that_run_is_over_at_once() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: nothing
version: 1.0.0
steps:
  - { key: a, action: ok, when: \"has(input.ever)\" }
  - { key: b, action: ok, when: \"has(input.never)\" }
";
    let id = stage.run(yaml, json!({})).await;
    assert_eq!(stage.flow(id), "succeeded: a K condition_false, b K condition_false");
    assert_eq!(stage.workflow(id).state, WorkflowState::Succeeded);
    let decisions = stage.browse().branch_decisions(id).unwrap();
    assert_eq!(decisions.len(), 2);
    assert_eq!((decisions[0].kind, &*decisions[0].result), ("when", "false"));
}

#[tokio::test]
async fn whoever_runs_a_step_is_told_what_it_is_done_for() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: told
version: 1.2.0
steps:
  - { key: all, action: hold, each: \"input.items\" }
";
    stage.define(yaml).await;
    let id = stage.start("told", json!({"items": [7, 8]})).await;
    stage.create(json!([{"action": "hold"}])).await;
    stage.decide(rules::settle::Mode::FixedPoint).await;
    let mut told: Vec<String> = Vec::new();
    for claim in stage.handed() {
        told.push(match claim.workflow.as_deref() {
            Some(of) => {
                assert_eq!(of.id, id);
                format!("{} {} {} {} {:?}", of.definition, of.version, of.step_key, of.run, of.item)
            }
            None => "nothing".into(),
        });
    }
    told.sort();
    assert_eq!(told, ["nothing", "told 1.2.0 all 1 Some(0)", "told 1.2.0 all 1 Some(1)"]);
}
