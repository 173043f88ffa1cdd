//! What people and workers may ask of a workflow in each of its states, and where that leads; everything else is refused.

use engine::{ReportAnswer, WorkflowVerb as V};
use model::{CompensationScope, Decision, Failure, Outcome, State, WorkflowId, WorkflowState as W};
use serde_json::json;
use stepfast_testkit::{Stage, from_step, outcome_of, undo_then_from};

/// Its first step completes; what becomes of it then, and of what undoes it, the test says.
const FLOW: &str = "
workflow: flow
version: 1.0.0
concurrency: { key: input.key, limit: 1 }
steps:
  - { key: a, action: ok, compensation: { action: hold } }
  - { key: b, action: hold, compensation: { action: ok, when: started } }
";

/// How one that waits for somebody differs from one that somebody holds.
const ASKS: &str = "
workflow: asks
version: 1.0.0
steps:
  - { key: a, action: ok, compensation: { action: hold }, pause_after: { trigger: boss } }
  - { key: b, action: hold }
";

const PLACES: [&str; 11] = [
    "pending",
    "running",
    "held",
    "awaiting",
    "succeeded",
    "failed",
    "resolved",
    "cancelled",
    "compensating",
    "compensation_failed",
    "compensated",
];

/// A workflow that is there.
async fn at(stage: &mut Stage, place: &str, n: usize) -> WorkflowId {
    let undo = |scope| V::Resolve(Decision::Compensate { scope });
    let start = if place == "awaiting" { "asks" } else { "flow" };
    let key = format!("{place}-{n}");
    if place == "pending" {
        stage.start("flow", json!({"key": key})).await;
    }
    let id = stage.start(start, json!({"key": key})).await;
    stage.settle().await;
    match place {
        "held" => stage.operate_workflow(id, V::Pause).await.expect("it runs"),
        "succeeded" => stage.done(id, "b").await,
        "cancelled" => stage.operate_workflow(id, V::Cancel).await.expect("it runs"),
        "failed" | "resolved" | "compensating" | "compensation_failed" | "compensated" => {
            stage.fail(id, "b").await
        }
        _ => {}
    }
    match place {
        "resolved" => stage.resolve(id, Decision::MarkResolved).await.expect("it failed"),
        "compensating" | "compensation_failed" | "compensated" => {
            stage.operate_workflow(id, undo(CompensationScope::Full)).await.expect("it failed");
            stage.settle().await;
        }
        _ => {}
    }
    match place {
        "compensation_failed" => stage.fail(id, "a:compensation").await,
        "compensated" => stage.done(id, "a:compensation").await,
        _ => {}
    }
    stage.settle().await;
    id
}

fn state_at(place: &str) -> W {
    match place {
        "held" | "awaiting" => W::Paused,
        "resolved" => W::Failed,
        other => other.parse().expect("a state"),
    }
}

/// Where each place is left to, by what is asked: a state, or `·` for a refusal. One column for each place.
const TABLE: [(&str, [&str; 11]); 12] = [
    ("pause", ["·", "paused", "·", "paused", "·", "·", "·", "·", "·", "·", "·"]),
    ("resume", ["·", "·", "running", "·", "·", "·", "·", "·", "·", "·", "·"]),
    ("force", ["·", "·", "running", "running", "·", "·", "·", "·", "·", "·", "·"]),
    (
        "cancel",
        ["cancelled", "cancelled", "cancelled", "cancelled", "·", "cancelled", "·", "·", "·", "·", "·"],
    ),
    ("retry", ["·", "·", "·", "·", "·", "running", "·", "·", "·", "·", "·"]),
    ("retry_from", ["·", "·", "running", "paused", "·", "running", "·", "·", "·", "·", "·"]),
    ("undo_then_retry", ["·", "·", "compensating", "·", "·", "running", "·", "·", "·", "·", "·"]),
    (
        "compensate",
        ["·", "compensating", "compensating", "compensating", "·", "compensating", "·", "·", "·", "·", "·"],
    ),
    ("mark_resolved", ["·", "·", "·", "·", "·", "failed", "·", "·", "·", "·", "·"]),
    ("retry_compensation", ["·", "·", "·", "·", "·", "·", "·", "·", "·", "compensating", "·"]),
    ("skip_compensation", ["·", "·", "·", "·", "·", "·", "·", "·", "·", "compensated", "·"]),
    ("skip_all", ["·", "·", "·", "·", "·", "·", "·", "·", "·", "compensated", "·"]),
];

fn verb(asked: &str) -> V {
    match asked {
        "pause" => V::Pause,
        "resume" => V::Resume,
        "cancel" => V::Cancel,
        "retry" => V::Resolve(Decision::RETRY),
        "retry_from" => V::Resolve(from_step("a")),
        "undo_then_retry" => V::Resolve(undo_then_from("a")),
        "compensate" => V::Resolve(Decision::Compensate { scope: CompensationScope::Full }),
        "mark_resolved" => V::Resolve(Decision::MarkResolved),
        "retry_compensation" => V::Resolve(Decision::RetryCompensation),
        "skip_compensation" => V::Resolve(Decision::SkipCompensation { all: false }),
        "skip_all" => V::Resolve(Decision::SkipCompensation { all: true }),
        other => panic!("nobody asks for `{other}`"),
    }
}

#[tokio::test]
async fn people_are_refused_wherever_the_table_has_no_way() {
    let mut stage = Stage::new().await;
    stage.define(FLOW).await;
    stage.define(ASKS).await;
    for (n, (asked, row)) in TABLE.iter().enumerate() {
        for (place, expected) in PLACES.iter().zip(row) {
            let id = at(&mut stage, place, n).await;
            let before = (stage.flow(id), stage.undoing(id), stage.decided(id));
            assert_eq!(stage.workflow(id).state, state_at(place), "{place} was not reached: {before:?}");
            let told = match *asked {
                "force" => stage.force(id, None).await,
                asked => stage.operate_workflow(id, verb(asked)).await,
            };
            stage.settle().await;
            match (told, *expected) {
                (Ok(()), "·") => panic!("`{asked}` is done to one that is {place}: {}", stage.flow(id)),
                (Ok(()), to) => assert_eq!(stage.workflow(id).state.word(), to, "`{asked}` at {place}"),
                (Err(why), "·") => {
                    assert!(why.contains("it ") || why.contains("none of"), "it is not said why: {why}");
                    let after = (stage.flow(id), stage.undoing(id), stage.decided(id));
                    assert_eq!(after, before, "`{asked}` at {place} was refused and changed something");
                }
                (Err(why), to) => panic!("`{asked}` at {place} leads to {to}, and is refused: {why}"),
            }
        }
    }
    stage.check();
}

/// A worker that answers for a step that has ended, however it did, is late, and nothing changes.
#[tokio::test]
async fn workers_change_nothing_of_what_has_ended() {
    let mut stage = Stage::new().await;
    let ends = ["ok", "fail", "stop", "skip", "resolved"];
    for first in ends {
        for second in ends.into_iter().chain(["retry", "throttle"]) {
            let yaml = format!(
                "workflow: {first}-{second}\nversion: 1.0.0\nsteps:\n  - {{ key: a, action: hold }}\n"
            );
            let id = stage.run(&yaml, json!({})).await;
            stage.end(id, "a", outcome_of(first).expect("it answers")).await;
            let (step, before) = (stage.step_of(id, "a"), stage.flow(id));
            assert!(stage.step(step).step.state.is_terminal());
            let said = outcome_of(second).expect("it answers");
            assert_eq!(stage.report(stage.session.id, step, 1, said).await, ReportAnswer::Late);
            stage.settle().await;
            assert_eq!(stage.flow(id), before, "{second} behind {first}");
        }
    }
}

/// A poll that is not asked just now takes no answer, and one that was taken back neither.
#[tokio::test]
async fn workers_change_nothing_of_what_they_do_not_hold() {
    let mut stage = Stage::new().await;
    let yaml = "workflow: asks\nversion: 1.0.0\nsteps:\n  - { key: a, poll: { action: poll, arguments: [continue, hold], interval: 60s } }\n";
    let id = stage.run(yaml, json!({})).await;
    let step = stage.step_of(id, "a");
    assert_eq!(stage.step(step).step.state, State::Polling);
    let failure = || Failure { message: "no".into(), trace: None };
    let all = || {
        [
            Outcome::Complete { response: None },
            Outcome::Continue { data: None, after: None },
            Outcome::Abort { why: "no".into() },
            Outcome::Fail { failure: failure(), notify: true },
        ]
    };
    for said in all() {
        assert_eq!(
            stage.report(stage.session.id, step, 1, said).await,
            ReportAnswer::Late,
            "between two polls"
        );
    }
    stage.settle().await;
    assert_eq!((stage.step(step).step.polls, stage.flow(id).as_str()), (1, "running: a O"));
    stage.operate_workflow(id, V::Cancel).await.expect("it runs");
    stage.settle().await;
    for said in all() {
        assert_eq!(stage.report(stage.session.id, step, 1, said).await, ReportAnswer::Late, "cancelled");
    }
    assert_eq!(stage.flow(id), "cancelled: a X workflow_cancelled");
}

/// Each line of a plan goes through its states as the machine has them, and never back from an end.
#[tokio::test]
async fn what_is_undone_goes_through_its_states() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: undone
version: 1.0.0
steps:
  - { key: a, action: ok, compensation: { action: hold } }
  - { key: b, action: ok, compensation: { action: hold } }
  - { key: c, action: ok, compensation: { action: hold } }
  - { key: d, action: hold }
";
    let id = stage.run(yaml, json!({})).await;
    stage.fail(id, "d").await;
    let mut seen = Vec::new();
    let undo = Decision::Compensate { scope: CompensationScope::Full };
    stage.resolve(id, undo).await.expect("it failed");
    seen.push(stage.undoing(id));
    stage.fail(id, "c:compensation").await;
    seen.push(stage.undoing(id));
    stage.resolve(id, Decision::RetryCompensation).await.expect("it could not be undone");
    seen.push(stage.undoing(id));
    stage.done(id, "c:compensation").await;
    seen.push(stage.undoing(id));
    let first = stage.step_of(id, "c:compensation");
    assert_eq!(
        stage.report(stage.session.id, first, 1, Outcome::Complete { response: None }).await,
        ReportAnswer::Late
    );
    stage.fail(id, "b:compensation").await;
    stage.resolve(id, Decision::SkipCompensation { all: true }).await.expect("it could not be undone");
    seen.push(stage.undoing(id));
    let refused = stage.resolve(id, Decision::RetryCompensation).await.unwrap_err();
    assert!(refused.contains("it was compensated"), "{refused}");
    seen.push(stage.undoing(id));
    assert_eq!(
        seen,
        [
            "c running, b pending, a pending",
            "c failed, b pending, a pending",
            "c running, b pending, a pending",
            "c succeeded, b running, a pending",
            "c succeeded, b skipped, a skipped",
            "c succeeded, b skipped, a skipped",
        ]
    );
}
