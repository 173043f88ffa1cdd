//! Polling with each of the others.

use super::play::{pass, refused};
use model::{Reason, TriggerAnswer as A, WorkflowState};
use serde_json::{Value, json};
use stepfast_testkit::{Stage, undo_all};

fn asks(head: &str, options: &str, behind: &str) -> String {
    format!(
        "
workflow: asks
version: 1.0.0
{head}
steps:
  - {{ key: a, action: ok, compensation: {{ action: ok }} }}
  - {{ key: paid, poll: {{ action: poll, arguments: \"${{input.says}}\", interval: 60s{options} }}{behind} }}
  - {{ key: end, action: hold }}
"
    )
}

/// A poll has no strategy of its own, and what it does when nothing came is no failure unless it says so.
pub async fn a_poll_resolves_no_failure() {
    let inside = asks("", ", on_failure: auto_retry", "");
    assert!(refused(&inside).contains("unknown key `on_failure` in"), "{}", refused(&inside));
    let mut stage = Stage::new().await;
    let head = "on_failure: auto_compensate";
    let never = || json!({"says": ["continue"]});
    let id = stage.run(&asks(head, ", max_attempts: 2, on_timeout: pause", ""), never()).await;
    pass(&mut stage, 60, 2).await;
    assert_eq!(stage.flow(id), "paused: a C, paid T");
    let default = asks(head, ", max_attempts: 2, on_timeout: continue_with_default, default: 0", "");
    let other = stage.run(&default.replace("workflow: asks", "workflow: default"), never()).await;
    pass(&mut stage, 60, 2).await;
    assert_eq!(stage.flow(other), "running: a C, paid C, end R");
    for id in [id, other] {
        assert_eq!((stage.decided(id), stage.undoing(id)), (Vec::new(), String::new()));
    }
}

/// To poll again is not to retry: it is the same run, nothing is superseded, and nobody decided it.
pub async fn a_poll_is_no_retry() {
    let inside = asks("", ", retry_from: a", "");
    assert!(refused(&inside).contains("unknown key `retry_from` in"), "{}", refused(&inside));
    let mut stage = Stage::new().await;
    let says = json!({"says": ["continue", "continue", "continue", "complete"]});
    let id = stage.run(&asks("", "", ""), says).await;
    let step = stage.step_of(id, "paid");
    for polls in 1..4 {
        let row = stage.step(step);
        assert_eq!((row.step.polls, row.detail.retry_source), (polls, None));
        assert_eq!(row.step.in_workflow.map(|part| part.run), Some(1));
        pass(&mut stage, 60, 1).await;
    }
    assert_eq!(stage.flow(id), "running: a C, paid C, end R");
    assert_eq!(stage.step_of(id, "paid"), step);
    assert_eq!(stage.decided(id), [] as [&str; 0]);
    assert!(!stage.told(id).iter().any(|told| told.starts_with("step.superseded")), "{:?}", stage.told(id));
}

/// Whoever undoes it is told what it was asked and the answer with which it ended, also if that is its default.
pub async fn it_can_be_compensated() {
    for (says, options, output) in [
        (json!(["continue", "complete"]), "", json!({"polls": 2, "previous": 1})),
        (
            json!(["continue"]),
            ", max_attempts: 2, on_timeout: continue_with_default, default: { none: 1 }",
            json!({"none": 1}),
        ),
    ] {
        let mut stage = Stage::new().await;
        let yaml = asks("", options, ", compensation: { action: hold }");
        let id = stage.run(&yaml, json!({"says": says})).await;
        pass(&mut stage, 60, 1).await;
        stage.fail(id, "end").await;
        stage.resolve(id, undo_all()).await.expect("it failed");
        assert_eq!(stage.undoing(id), "paid running, a pending");
        let told: Value =
            serde_json::from_str(&stage.step(stage.step_of(id, "paid:compensation")).step.arguments)
                .expect("JSON");
        assert_eq!((&told["input"], &told["output"], &told["run"]), (&says, &output, &json!(1)));
        stage.done(id, "paid:compensation").await;
        assert_eq!(stage.workflow(id).state, WorkflowState::Compensated);
    }
}

/// On several branches at once: where they meet, all that were chosen have come to their ends.
pub async fn it_can_stand_on_branches() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: both
version: 1.0.0
steps:
  - key: route
    branch: { kind: inclusive, choose: input.ways, branches: { x: [px], y: [py], z: [pz] }, converge: end }
  - { key: px, poll: { action: poll, arguments: [continue, complete], interval: 60s } }
  - { key: py, poll: { action: poll, arguments: [continue], interval: 60s, max_attempts: 3 }, on_failure: skip_step }
  - { key: pz, poll: { action: poll, arguments: [complete], interval: 60s } }
  - { key: end, action: ok }
";
    let id = stage.run(yaml, json!({"ways": ["x", "y"]})).await;
    assert_eq!(stage.flow(id), "running: route C, px O, py O, pz K not_on_active_branch");
    pass(&mut stage, 60, 1).await;
    assert_eq!(stage.flow(id), "running: route C, px C, py O, pz K not_on_active_branch");
    pass(&mut stage, 60, 1).await;
    assert_eq!(stage.flow(id), "succeeded: route C, px C, py T, pz K not_on_active_branch, end C");
    let row = stage.step(stage.step_of(id, "py"));
    assert_eq!(row.step.reason, Some(Reason::PollTimedOut));
}

/// The pause begins when the poll has its answer, not between two polls, and is told it.
pub async fn a_pause_follows_the_last_poll() {
    let mut stage = Stage::new().await;
    let behind = ", pause_after: { trigger: boss, resume_when: \"payload == outputs.paid.polls\" }";
    let id = stage.run(&asks("", "", behind), json!({"says": ["continue", "complete"]})).await;
    assert_eq!(stage.flow(id), "running: a C, paid O");
    assert_eq!(stage.pauses(id), [] as [&str; 0]);
    pass(&mut stage, 60, 1).await;
    assert_eq!(stage.flow(id), "paused: a C, paid C");
    assert_eq!(stage.pauses(id), ["paid 1 waiting"]);
    stage.crash().await;
    assert!(matches!(stage.trigger(id, "boss", json!(1)).await, A::StillWaiting(_)));
    assert_eq!(stage.trigger(id, "boss", json!(2)).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.flow(id), "running: a C, paid C, end R");
}
