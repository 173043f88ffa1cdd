//! Fan-outs that are to be done again while items of them are still being ended: what succeeded stays all the same.

use engine::WorkflowVerb as V;
use model::{Outcome, State, StepId, WorkflowId, limits};
use rules::settle::Mode;
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::Stage;

/// More than two turns take back.
const ITEMS: u32 = 2 * limits::SWEEP_PAGE as u32 + 300;

fn each(strategy: &str, policy: &str) -> String {
    format!(
        "
workflow: each
version: 1.0.0
{strategy}
steps:
  - {{ key: all, action: hold, each: \"input.n\", gather: counts, timeout: {{ step: 20s }}, retry: {{ attempts: 1 }}{policy} }}
"
    )
}

/// Three items succeed, then the time of all is over, and one turn has begun to end the others.
async fn overdue(stage: &mut Stage, yaml: &str) -> (WorkflowId, Vec<StepId>) {
    stage.define(yaml).await;
    let id = stage.start("each", json!({"n": ITEMS})).await;
    let mut claims = Vec::new();
    for _ in 0..8 {
        stage.decide(Mode::FixedPoint).await;
        claims.extend(stage.handed());
    }
    let done: Vec<StepId> = claims.iter().take(3).map(|claim| claim.step).collect();
    for claim in claims.iter().take(3) {
        let response = Some("1".into());
        stage.report(stage.session.id, claim.step, claim.attempt, Outcome::Complete { response }).await;
    }
    stage.decide(Mode::FixedPoint).await;
    stage.advance(Duration::from_secs(25)).await;
    (id, done)
}

/// How many items are live, superseded and completed.
fn counts(stage: &Stage, id: WorkflowId) -> (u32, u32, u32) {
    let block = stage.step(stage.step_of(id, "all")).step.child_block.expect("it has items");
    let steps = stage.browse().block(block).expect("a read").expect("it is there").steps;
    (steps.hot, steps.superseded, steps.completed)
}

async fn until_made_again(stage: &mut Stage, id: WorkflowId, done: &[StepId]) {
    for _ in 0..12 {
        stage.advance(Duration::from_secs(1)).await;
        stage.decide(Mode::FixedPoint).await;
        stage.handed();
    }
    assert_eq!(stage.flow(id), "running: all U, all R");
    assert_eq!(counts(stage, id), (ITEMS - 3, ITEMS - 3, 3), "live, superseded, completed");
    for step in done {
        assert_eq!(stage.step(*step).step.state, State::Completed);
    }
}

/// It did all of them again, those that had succeeded too.
#[tokio::test]
async fn a_strategy_waits_until_the_items_have_ended() {
    let mut stage = Stage::new().await;
    let yaml = each("on_failure: { strategy: auto_retry, delay: 1s, max_retries: 3 }", "");
    let (id, done) = overdue(&mut stage, &yaml).await;
    let (live, ..) = counts(&stage, id);
    assert!(live > 0, "the test is about items that are still being ended");
    until_made_again(&mut stage, id, &done).await;
}

#[tokio::test]
async fn whoever_resumes_meanwhile_is_told_so() {
    let mut stage = Stage::new().await;
    let (id, done) = overdue(&mut stage, &each("", ", on_failure: pause_workflow")).await;
    assert!(counts(&stage, id).0 > 0, "the test is about items that are still being ended");
    let refused = stage.operate_workflow(id, V::Resume).await.expect_err("too early");
    assert!(
        refused.contains("items of step `all` are still being ended; try again in a moment"),
        "{refused}"
    );
    for _ in 0..4 {
        stage.decide(Mode::FixedPoint).await;
    }
    stage.operate_workflow(id, V::Resume).await.expect("they have ended");
    until_made_again(&mut stage, id, &done).await;
}
