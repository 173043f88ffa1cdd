//! Branching with each of the others.

use super::play::{pass, refused};
use model::{TriggerAnswer as A, WorkflowState};
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::{Stage, from_step, undo_all};

const WAYS: &str = "
workflow: ways
version: 1.0.0
steps:
  - key: route
    branch: { choose: input.way, branches: { good: [g], bad: [b] }, converge: end }
  - { key: g, action: ok, compensation: { action: ok } }
  - { key: b, action: fail, retry: { attempts: 1 }, compensation: { action: ok, when: started } }
  - { key: end, action: hold, compensation: { action: ok, when: started } }
";

/// A choice has no strategy of its own, and a way that was not taken cannot fail.
pub async fn a_branch_resolves_no_failure() {
    let inside = WAYS.replace("choose: input.way,", "choose: input.way, on_failure: auto_retry,");
    assert!(refused(&inside).contains("unknown key `on_failure` in"), "{}", refused(&inside));
    let strategy = WAYS.replace("key: route\n", "key: route\n    on_failure: auto_compensate\n");
    assert!(refused(&strategy).contains("auto_compensate"), "{}", refused(&strategy));
    let mut stage = Stage::new().await;
    for head in ["on_failure: auto_compensate", "on_failure: { strategy: auto_retry, delay: 1s }"] {
        let name = if head.contains("retry") { "retried" } else { "undone" };
        let yaml = WAYS
            .replace("workflow: ways", &format!("workflow: {name}"))
            .replace("steps:", &format!("{head}\nsteps:"));
        let id = stage.run(&yaml, json!({"way": "good"})).await;
        pass(&mut stage, 5, 2).await;
        stage.done(id, "end").await;
        assert_eq!(stage.flow(id), "succeeded: route C, g C, b K not_on_active_branch, end C");
        assert_eq!((stage.decided(id), stage.undoing(id)), (Vec::new(), String::new()));
    }
}

/// A step on the way that was not taken is left out again, and what follows the ways is done again.
pub async fn a_retry_from_a_way_that_was_not_taken_takes_none() {
    let mut stage = Stage::new().await;
    let id = stage.run(WAYS, json!({"way": "good"})).await;
    stage.fail(id, "end").await;
    stage.resolve(id, from_step("b")).await.expect("it failed");
    assert_eq!(
        stage.flow(id),
        "running: route C, g C, b U, b K not_on_active_branch, end U, end R",
        "what the other way did stays done"
    );
    stage.done(id, "end").await;
    assert_eq!(stage.workflow(id).state, WorkflowState::Succeeded);
    let other = stage.start("ways", json!({"way": "bad"})).await;
    stage.settle().await;
    assert_eq!(stage.flow(other), "failed: route C, g K not_on_active_branch, b F");
    let refused = stage.resolve(other, from_step("end")).await.expect_err("it is refused");
    assert!(refused.contains("step `end` has not been done yet"), "{refused}");
}

/// What stands on the way that was taken, and behind where the ways meet; a choice itself has nothing to undo.
pub async fn the_way_that_was_taken_is_undone() {
    let inside = WAYS.replace("converge: end }", "converge: end }\n    compensation: { action: ok }");
    assert!(refused(&inside).contains("compensation"), "{}", refused(&inside));
    let mut stage = Stage::new().await;
    let id = stage.run(WAYS, json!({"way": "good"})).await;
    stage.advance(Duration::from_secs(1)).await;
    stage.fail(id, "end").await;
    stage.resolve(id, undo_all()).await.expect("it failed");
    assert_eq!(stage.undoing(id), "end succeeded, g succeeded");
    let other = stage.start("ways", json!({"way": "bad"})).await;
    stage.settle().await;
    stage.resolve(other, undo_all()).await.expect("it failed");
    assert_eq!(stage.undoing(other), "b succeeded", "it was begun, and says that this is enough");
}

const ASKS: &str = "
workflow: asks
version: 1.0.0
steps:
  - key: route
    branch: { choose: input.way, branches: { slow: [paid, thank], fast: [] }, converge: end }
  - { key: paid, poll: { action: poll, arguments: [continue, complete], interval: 60s } }
  - { key: thank, action: ok }
  - { key: end, action: ok }
";

/// Where the ways meet it is waited for a poll on the way that was taken, and for none on another.
pub async fn a_poll_stands_on_a_branch() {
    let mut stage = Stage::new().await;
    let id = stage.run(ASKS, json!({"way": "slow"})).await;
    assert_eq!(stage.flow(id), "running: route C, paid O");
    stage.crash().await;
    stage.settle().await;
    pass(&mut stage, 60, 1).await;
    assert_eq!(stage.flow(id), "succeeded: route C, paid C, thank C, end C");
    let id = stage.start("asks", json!({"way": "fast"})).await;
    stage.settle().await;
    assert_eq!(
        stage.flow(id),
        "succeeded: route C, paid K not_on_active_branch, thank K not_on_active_branch, end C"
    );
    assert!(stage.browse().polls(stage.step_of(id, "paid")).expect("a read").is_empty());
}

/// The choice is made, and the way that was chosen begins when somebody lets it.
pub async fn a_pause_stands_behind_a_choice() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: asked
version: 1.0.0
steps:
  - key: route
    branch: { choose: input.way, branches: { left: [l], right: [r] }, converge: end }
    pause_after: { trigger: chosen }
  - { key: l, action: ok }
  - { key: r, action: ok }
  - { key: end, action: ok }
";
    let id = stage.run(yaml, json!({"way": "right"})).await;
    assert_eq!(stage.flow(id), "paused: route C", "neither way begins, nor is one left out");
    assert_eq!(stage.browse().branch_decisions(id).expect("a read").len(), 1);
    stage.crash().await;
    assert_eq!(stage.trigger(id, "chosen", json!(1)).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: route C, l K not_on_active_branch, r C, end C");
    assert_eq!(stage.browse().branch_decisions(id).expect("a read").len(), 1, "it is not chosen again");
}
