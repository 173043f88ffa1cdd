//! Fan-outs that are done again: only what failed of them, or all.

use engine::{WorkflowOperation, WorkflowVerb as V};
use model::{CompensationScope, Decision, Outcome, RetryItems, RetryMode, State, StepId, WorkflowId};
use rules::settle::Mode;
use serde_json::json;
use stepfast_testkit::Stage;

fn each(more: &str) -> String {
    format!(
        "
workflow: each
version: 1.0.0
steps:
  - key: all
    action: hold
    each: \"input.items\"
    arguments: {{ v: \"${{item}}\" }}
{more}
  - {{ key: end, action: echo, arguments: \"${{outputs.all}}\" }}
"
    )
}

fn retry(items: Option<RetryItems>) -> Decision {
    Decision::Retry { items }
}

fn from_step(step: &str, mode: RetryMode, items: Option<RetryItems>) -> Decision {
    Decision::RetryFromStep { step: step.into(), mode, include_step: false, force: false, items }
}

/// The items of the last run that somebody holds: their numbers and ids.
fn held(stage: &Stage, id: WorkflowId) -> Vec<(u32, StepId)> {
    let block = stage.step(stage.step_of(id, "all")).step.child_block.expect("it has items");
    let rows = stage.browse().items(block, None, 100).expect("a read");
    let running = rows.iter().filter(|row| row.step.state == State::Running);
    let item = |row: &store::StepRow| row.step.in_workflow.and_then(|part| part.item).expect("an item");
    running.map(|row| (item(row), row.step.id)).collect()
}

/// Whoever holds items answers with the run and the number; these fail.
async fn work(stage: &mut Stage, id: WorkflowId, bad: &[u32]) -> Vec<u32> {
    let held = held(stage, id);
    for (item, step) in &held {
        let row = stage.step(*step).step;
        let outcome = match bad.contains(item) {
            true => Outcome::Fail { failure: Default::default(), notify: true },
            false => {
                let run = row.in_workflow.map_or(0, |part| part.run);
                Outcome::Complete { response: Some(format!(r#""{run}.{item}""#)) }
            }
        };
        stage.report(stage.session.id, *step, row.attempt, outcome).await;
    }
    stage.settle().await;
    held.into_iter().map(|(item, _)| item).collect()
}

async fn decide(stage: &mut Stage, id: WorkflowId, decision: Decision) -> Result<(), String> {
    let decided = stage.operate_workflow(id, V::Resolve(decision)).await;
    // What failed is read once it is on disk.
    stage.decide(Mode::FixedPoint).await;
    stage.settle().await;
    decided
}

async fn five(stage: &mut Stage, more: &str, bad: &[u32]) -> WorkflowId {
    stage.define(&each(more)).await;
    let id = stage.start("each", json!({"items": ["a", "b", "c", "d", "e"]})).await;
    stage.settle().await;
    assert_eq!(work(stage, id, bad).await, [0, 1, 2, 3, 4]);
    id
}

#[tokio::test]
async fn only_the_items_that_failed_are_done_again() {
    let mut stage = Stage::new().await;
    let id = five(&mut stage, "", &[1, 3]).await;
    assert_eq!(stage.flow(id), "failed: all F");
    let first = stage.step(stage.step_of(id, "all")).step;
    let before = stage.browse().items(first.child_block.unwrap(), None, 10).unwrap();
    decide(&mut stage, id, Decision::RETRY).await.unwrap();
    assert_eq!(stage.flow(id), "running: all U, all R");
    let again: Vec<u32> = held(&stage, id).iter().map(|(item, _)| *item).collect();
    assert_eq!(again, [1, 3]);
    stage.crash().await;
    stage.settle().await;
    // A lost attempt is made again: by whoever is there now.
    assert_eq!(work(&mut stage, id, &[]).await, [1, 3]);
    assert_eq!(stage.flow(id), "succeeded: all U, all C, end C");
    assert_eq!(stage.workflow(id).output.as_deref(), Some(r#"["1.0","2.1","1.2","2.3","1.4"]"#));
    let second = stage.step(stage.step_of(id, "all"));
    assert_eq!(second.step.in_workflow.unwrap().run, 2);
    assert_eq!(stage.step(first.id).detail.superseded_by, Some(second.step.id));
    assert_eq!(stage.step(first.id).step.child_block, None, "its items are those of the next run");
    let after = stage.browse().items(second.step.child_block.unwrap(), None, 10).unwrap();
    for (old, new) in before.iter().zip(&after) {
        let item = new.step.in_workflow.unwrap().item.unwrap();
        match [1, 3].contains(&item) {
            true => {
                let old = stage.step(old.step.id);
                assert_eq!(old.step.state, State::Superseded);
                assert_eq!(old.detail.superseded_by, Some(new.step.id), "item {item} names its successor");
            }
            false => assert_eq!(old.step.id, new.step.id, "item {item} stays"),
        }
    }
}

#[tokio::test]
async fn the_definition_says_which_items_and_a_decision_may_say_otherwise() {
    let (failed, all) = (Some(RetryItems::Failed), Some(RetryItems::All));
    let whole = "    retry: { attempts: 1, scope: all }";
    let cases = [("", None, 2), ("", all, 5), (whole, None, 5), (whole, failed, 2)];
    for (more, items, n) in cases {
        let mut stage = Stage::new().await;
        let id = five(&mut stage, more, &[0, 4]).await;
        decide(&mut stage, id, retry(items)).await.unwrap();
        assert_eq!(held(&stage, id).len(), n, "{more} {items:?}");
        work(&mut stage, id, &[]).await;
        assert_eq!(stage.flow(id), "succeeded: all U, all C, end C", "{more} {items:?}");
        let decisions = stage.browse().resolution_decisions(id).unwrap();
        assert_eq!(decisions[0].decision, retry(items), "what was said is on record");
    }
}

#[tokio::test]
async fn what_would_be_done_is_told_and_what_cannot_be_is_refused() {
    let mut stage = Stage::new().await;
    let id = five(&mut stage, "", &[1, 3]).await;
    let verb = V::Resolve(Decision::RETRY);
    let (by, why) = ("test".into(), "because".into());
    let operation =
        WorkflowOperation { workflow: id, verb, by, why, dry_run: true, expected: None, force: None };
    let told = stage.engine.operate_workflow(operation).await.unwrap().effects;
    assert_eq!(
        told,
        [
            "step `all` is done again; its last run is kept as superseded",
            "of step `all` 2 of 5 items are done again; the others keep what they answered"
        ]
    );
    let yaml = "
workflow: plain
version: 1.0.0
steps:
  - { key: one, action: fail }
";
    let plain = stage.run(yaml, json!({})).await;
    let refused = decide(&mut stage, plain, retry(Some(RetryItems::Failed))).await.unwrap_err();
    assert!(refused.contains("none of the steps that are done again has items that failed"), "{refused}");
    assert_eq!(stage.flow(plain), "failed: one F");
}

#[tokio::test]
async fn whether_enough_succeeded_is_asked_anew() {
    let mut stage = Stage::new().await;
    let id = five(&mut stage, "    success: { at_least: 3 }", &[0, 1, 2]).await;
    assert_eq!(stage.flow(id), "failed: all F");
    decide(&mut stage, id, Decision::RETRY).await.unwrap();
    assert_eq!(work(&mut stage, id, &[0, 1, 2]).await, [0, 1, 2]);
    assert_eq!(stage.flow(id), "failed: all U, all F", "still two of five");
    decide(&mut stage, id, Decision::RETRY).await.unwrap();
    assert_eq!(work(&mut stage, id, &[0, 2]).await, [0, 1, 2]);
    assert_eq!(stage.flow(id), "succeeded: all U, all U, all C, end C", "three are enough");
    assert_eq!(stage.workflow(id).output.as_deref(), Some(r#"[null,"3.1",null,"1.3","1.4"]"#));
}

#[tokio::test]
async fn from_a_fan_out_only_its_failed_items_and_all_behind_it() {
    let mut stage = Stage::new().await;
    let id = five(&mut stage, "    success: best_effort", &[2]).await;
    assert_eq!(stage.flow(id), "succeeded: all C, end C");
    let mut again = from_step("all", RetryMode::RetryOnly, Some(RetryItems::Failed));
    if let Decision::RetryFromStep { force, .. } = &mut again {
        *force = true;
    }
    decide(&mut stage, id, again).await.unwrap();
    assert_eq!(stage.flow(id), "running: all U, all R, end U");
    assert_eq!(work(&mut stage, id, &[]).await, [2]);
    assert_eq!(stage.flow(id), "succeeded: all U, all C, end U, end C");
    assert_eq!(stage.workflow(id).output.as_deref(), Some(r#"["1.0","1.1","2.2","1.3","1.4"]"#));
}

#[tokio::test]
async fn a_strategy_that_tries_again_spares_what_succeeded() {
    let mut stage = Stage::new().await;
    let yaml = each("").replace("steps:", "on_failure: { strategy: auto_retry, delay: 10s }\nsteps:");
    stage.define(&yaml).await;
    let id = stage.start("each", json!({"items": [1, 2, 3]})).await;
    stage.settle().await;
    work(&mut stage, id, &[0]).await;
    stage.crash().await;
    stage.advance(std::time::Duration::from_secs(11)).await;
    stage.decide(Mode::FixedPoint).await;
    stage.settle().await;
    assert_eq!(work(&mut stage, id, &[]).await, [0]);
    assert_eq!(stage.flow(id), "succeeded: all U, all C, end C");
}

#[tokio::test]
async fn items_of_both_runs_are_undone() {
    let mut stage = Stage::new().await;
    let more =
        "    compensation: { action: echo, arguments: { item: \"${undo.item}\", run: \"${undo.run}\" } }";
    let yaml = each(more).replace("action: echo, arguments: \"${outputs.all}\"", "action: fail");
    stage.define(&yaml).await;
    let id = stage.start("each", json!({"items": [1, 2, 3]})).await;
    stage.settle().await;
    work(&mut stage, id, &[1]).await;
    decide(&mut stage, id, Decision::RETRY).await.unwrap();
    work(&mut stage, id, &[]).await;
    assert_eq!(stage.flow(id), "failed: all U, all C, end F");
    decide(&mut stage, id, Decision::Compensate { scope: CompensationScope::Full }).await.unwrap();
    for _ in 0..6 {
        stage.settle().await;
        stage.decide(Mode::FixedPoint).await;
    }
    assert!(stage.flow(id).starts_with("compensated:"), "{}", stage.flow(id));
    let runs = stage.browse().compensation_runs(id).unwrap();
    assert_eq!(runs.iter().map(|run| run.items_done).collect::<Vec<_>>(), [3], "each once");
}

#[tokio::test]
async fn what_was_done_after_a_fan_out_is_undone_and_only_its_failed_items_are_done_again() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: each
version: 1.0.0
steps:
  - { key: all, action: hold, each: \"input.items\", on_failure: continue_with_partial }
  - { key: book, action: ok, compensation: { action: ok } }
  - { key: end, action: fail }
";
    stage.define(yaml).await;
    let id = stage.start("each", json!({"items": [1, 2, 3]})).await;
    stage.settle().await;
    work(&mut stage, id, &[2]).await;
    assert_eq!(stage.flow(id), "failed: all F, book C, end F");
    let again = from_step("all", RetryMode::CompensateThenRetry, Some(RetryItems::Failed));
    decide(&mut stage, id, again).await.unwrap();
    stage.crash().await;
    for _ in 0..4 {
        stage.decide(Mode::FixedPoint).await;
        stage.settle().await;
    }
    assert_eq!(work(&mut stage, id, &[]).await, [2]);
    let answer = stage.step(stage.step_of(id, "all")).detail.response;
    assert_eq!(answer.as_deref(), Some(r#"["1.0","1.1","2.2"]"#));
}

/// Found while it was made: what failed in the very turn before is not on disk yet when somebody decides.
#[tokio::test]
async fn pages_of_items_are_made_again_whatever_dies_meanwhile() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: many
version: 1.0.0
steps:
  - { key: all, action: fail, each: \"input.n\", gather: counts, success: best_effort, max_parallel: 400 }
";
    stage.define(yaml).await;
    let id = stage.start("many", json!({"n": 1_300})).await;
    for _ in 0..30 {
        stage.tick(Mode::FixedPoint).await;
    }
    assert_eq!(stage.flow(id), "failed: all F");
    stage.operate_workflow(id, V::Resolve(Decision::RETRY)).await.unwrap();
    for n in 0..60 {
        stage.tick(Mode::FixedPoint).await;
        if n % 5 == 4 {
            stage.crash().await;
        }
    }
    assert_eq!(stage.flow(id), "failed: all U, all F");
    let block = stage.step(stage.step_of(id, "all")).step.child_block.unwrap();
    let counts = stage.browse().block(block).unwrap().unwrap().steps;
    assert_eq!((counts.failed, counts.superseded), (1_300, 1_300), "each was made again, and once");
}

#[tokio::test]
async fn items_in_lines_are_made_again_in_their_lines() {
    let mut stage = Stage::new().await;
    let more = "    message_group: \"'c-' + item\"\n    mode: next_on_error";
    stage.define(&each(more)).await;
    let id = stage.start("each", json!({"items": ["a", "b", "a"]})).await;
    for _ in 0..3 {
        stage.decide(Mode::FixedPoint).await;
        stage.settle().await;
        work(&mut stage, id, &[1]).await;
    }
    assert_eq!(stage.flow(id), "failed: all F");
    decide(&mut stage, id, Decision::RETRY).await.unwrap();
    stage.decide(Mode::FixedPoint).await;
    stage.settle().await;
    assert_eq!(work(&mut stage, id, &[]).await, [1]);
    assert_eq!(stage.flow(id), "succeeded: all U, all C, end C");
}

/// A failed fan-out beside a step that was undone and done again did all of its items once more.
#[tokio::test]
async fn a_fan_out_beside_what_is_undone_keeps_what_succeeded() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: beside
version: 1.0.0
steps:
  - { key: x, action: ok, after: [], compensation: { action: ok } }
  - { key: all, action: hold, after: [], each: \"input.items\" }
";
    stage.define(yaml).await;
    let id = stage.start("beside", json!({"items": [1, 2, 3]})).await;
    stage.settle().await;
    assert_eq!(work(&mut stage, id, &[1]).await, [0, 1, 2]);
    let (step, mode) = ("x".into(), RetryMode::CompensateThenRetry);
    let again = Decision::RetryFromStep { step, mode, include_step: true, force: true, items: None };
    decide(&mut stage, id, again).await.unwrap();
    stage.settle().await;
    assert_eq!(work(&mut stage, id, &[]).await, [1], "{}", stage.flow(id));
    assert!(stage.flow(id).starts_with("succeeded"), "{}", stage.flow(id));
}
