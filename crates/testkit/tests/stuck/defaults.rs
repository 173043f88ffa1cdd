//! Every rule from the start fires on its case, and is silent about what only looks like it.

use super::*;
use engine::WorkflowVerb as V;
use model::{Breaker, Outcome};
use rules::fifo::GroupVerb;
use serde_json::json;
use stepfast_testkit::Stage;

#[tokio::test]
async fn a_step_that_nobody_takes_is_stuck_and_one_that_is_due_later_is_not() {
    let mut stage = Stage::new().await;
    stage.create(json!([{"action": "nobody runs this"}])).await;
    stage.create(json!([{"action": "ok", "delay_ms": 10_800_000}, {"action": "throttle"}])).await;
    stage.settle().await;
    assert_eq!(would_find(&stage, stage.clock_now()), Vec::<String>::new(), "it is young");
    stage.advance(59 * MINUTE).await;
    assert_eq!(would_find(&stage, stage.clock_now()), Vec::<String>::new());
    stage.advance(2 * MINUTE).await;
    stage.settle().await;
    assert_eq!(would_find(&stage, stage.clock_now()), ["step-waiting"]);
}

#[tokio::test]
async fn steps_in_lines_pools_and_blocks_are_found_too() {
    let mut stage = Stage::new().await;
    let pool = model::Pool { name: "card".into(), concurrency: Some(1), rate: None };
    stage.engine.put_pool(pool, "test".into()).await.unwrap();
    let lost = "nobody runs this";
    stage
        .create(json!([
            {"action": lost, "message_group": "a", "mode": "next_on_error"},
            {"action": lost, "message_group": "a", "mode": "next_on_error"},
            {"action": lost, "pool": "card"},
            {"action": "ok", "children": [{"action": lost}, {"action": lost, "index": 2}]},
        ]))
        .await;
    stage.settle().await;
    stage.advance(61 * MINUTE).await;
    stage.settle().await;
    let found = would_find(&stage, stage.clock_now());
    assert_eq!(
        found, ["step-waiting"; 3],
        "the second of the line, the parent and its second child wait for others"
    );
}

#[tokio::test]
async fn a_job_that_runs_for_long_is_stuck_and_its_parent_is_not() {
    let mut stage = Stage::new().await;
    stage.create(json!([{"action": "ok", "children": [{"action": "hold"}]}])).await;
    stage.settle().await;
    stage.advance(61 * MINUTE).await;
    stage.settle().await;
    assert_eq!(would_find(&stage, stage.clock_now()), ["step-running"]);
}

#[tokio::test]
async fn a_poll_that_waits_for_its_next_time_is_not_stuck() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: ask
version: 1.0.0
steps:
  - key: a
    poll: { action: poll, arguments: [continue], interval: 5h, max_duration: 48h }
";
    let id = stage.run(yaml, json!({})).await;
    assert_eq!(stage.flow(id), "running: a O");
    stage.advance(4 * HOUR).await;
    stage.settle().await;
    assert_eq!(would_find(&stage, stage.clock_now()), Vec::<String>::new());
}

#[tokio::test]
async fn a_failed_workflow_is_stuck_unless_it_is_tried_again_by_itself() {
    let mut stage = Stage::new().await;
    let id =
        stage.run("workflow: order\nversion: 1.0.0\nsteps:\n  - { key: a, action: fail }\n", json!({})).await;
    let again = "
workflow: again
version: 1.0.0
on_failure: { strategy: auto_retry, max_retries: 3, delay: 90m, max_delay: 2h }
steps:
  - { key: a, action: fail }
";
    let other = stage.run(again, json!({})).await;
    assert_eq!((stage.flow(id).as_str(), stage.flow(other).as_str()), ("failed: a F", "failed: a F"));
    stage.advance(61 * MINUTE).await;
    let found =
        dry_detect(&stage.browse(), StuckPolicy::default(), DetectOrder::default(), stage.clock_now())
            .unwrap();
    let told: Vec<(&str, String)> =
        found.found.iter().map(|f| (f.rule.as_str(), f.entity_id.clone())).collect();
    assert_eq!(told, [("workflow-failed", id.to_string())]);
    assert_eq!(stage.flow(other), "failed: a F", "it is tried again later");
    stage.operate_workflow(id, V::Resolve(model::Decision::MarkResolved)).await.unwrap();
    assert_eq!(would_find(&stage, stage.clock_now()), Vec::<String>::new(), "somebody has decided");
}

#[tokio::test]
async fn a_workflow_that_a_failure_paused_is_stuck_and_one_that_a_person_paused_is_not() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: paused
version: 1.0.0
steps:
  - key: a
    poll: { action: poll, arguments: [continue], interval: 1m, max_duration: 2m, on_timeout: pause }
";
    let id = stage.run(yaml, json!({})).await;
    let by_hand =
        stage.run("workflow: held\nversion: 1.0.0\nsteps:\n  - { key: a, wait: 90h }\n", json!({})).await;
    stage.operate_workflow(by_hand, V::Pause).await.unwrap();
    for _ in 0..4 {
        stage.advance(MINUTE).await;
        stage.settle().await;
    }
    assert!(stage.flow(id).starts_with("paused"), "{}", stage.flow(id));
    stage.advance(61 * MINUTE).await;
    assert_eq!(would_find(&stage, stage.clock_now()), ["workflow-paused"]);
}

#[tokio::test]
async fn a_workflow_that_does_not_move_is_stuck_unless_it_waits_or_its_step_is_told() {
    let mut stage = Stage::new().await;
    put(&stage, StuckRule { enabled: false, ..rule("step-running", "step-running") }).await;
    let id =
        stage.run("workflow: still\nversion: 1.0.0\nsteps:\n  - { key: a, action: hold }\n", json!({})).await;
    let waits =
        stage.run("workflow: waits\nversion: 1.0.0\nsteps:\n  - { key: a, wait: 90h }\n", json!({})).await;
    stage.advance(25 * HOUR).await;
    stage.settle().await;
    assert_eq!((stage.flow(id).as_str(), stage.flow(waits).as_str()), ("running: a R", "running: a P"));
    assert_eq!(would_find(&stage, stage.clock_now()), ["workflow-still"]);
    stage.engine.remove_stuck_rule("step-running".into(), "test".into()).await.unwrap();
    look(&stage, Remedies::Leave).await;
    let told: Vec<String> = open(&stage).into_iter().filter_map(|alert| alert.rule).collect();
    assert!(told.contains(&"step-running".to_string()), "{told:?}");
    let step = stage.step_of(id, "a");
    assert_eq!(
        stage.operate(step, Some(rules::operator::Verb::Complete)).await.unwrap().to_string(),
        "completed"
    );
    stage.settle().await;
    look(&stage, Remedies::Leave).await;
    assert_eq!(open(&stage), [], "both have left their states");
}

const UNDONE: &str = "
workflow: undone
version: 1.0.0
on_failure: auto_compensate
steps:
  - { key: a, action: ok, compensation: { action: WHAT } }
  - { key: b, action: fail }
";

#[tokio::test]
async fn what_cannot_be_undone_is_stuck() {
    let mut stage = Stage::new().await;
    let id = stage.run(&UNDONE.replace("WHAT", "fail"), json!({})).await;
    assert!(stage.flow(id).starts_with("compensation_failed"), "{}", stage.flow(id));
    stage.advance(14 * MINUTE).await;
    assert_eq!(would_find(&stage, stage.clock_now()), Vec::<String>::new());
    stage.advance(2 * MINUTE).await;
    assert_eq!(would_find(&stage, stage.clock_now()), ["compensation-failed"]);
}

#[tokio::test]
async fn undoing_that_stands_still_is_stuck_and_undoing_within_its_time_is_not() {
    let mut stage = Stage::new().await;
    put(&stage, StuckRule { enabled: false, ..rule("step-running", "step-running") }).await;
    let id = stage.run(&UNDONE.replace("WHAT", "hold"), json!({})).await;
    assert!(stage.flow(id).starts_with("compensating"), "{}", stage.flow(id));
    stage.advance(59 * MINUTE).await;
    assert_eq!(would_find(&stage, stage.clock_now()), Vec::<String>::new());
    stage.advance(2 * MINUTE).await;
    assert_eq!(would_find(&stage, stage.clock_now()), ["compensation-still"]);
}

#[tokio::test]
async fn a_pause_is_stuck_only_when_its_time_is_long_over() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: approve
version: 1.0.0
steps:
  - key: ask
    action: ok
    pause_after: { trigger: boss, auth: api_key, timeout: 2h, on_timeout: fail }
";
    let id = stage.run(yaml, json!({})).await;
    assert!(stage.flow(id).starts_with("paused"), "{}", stage.flow(id));
    let now = stage.clock_now();
    assert_eq!(without_owner(would_find(&stage, now + HOUR)), Vec::<String>::new());
    // Nobody decides meanwhile: the time of the pause passes and nothing comes of it.
    assert_eq!(without_owner(would_find(&stage, now + 3 * HOUR)), ["pause-overdue"]);
}

/// Where nobody decides for hours, every dispatch group is told too.
fn without_owner(found: Vec<String>) -> Vec<String> {
    found.into_iter().filter(|rule| rule != "dispatch-group-unowned").collect()
}

#[tokio::test]
async fn a_blocked_message_group_is_stuck_and_a_paused_one_is_not() {
    let mut stage = Stage::new().await;
    let line = |group: &str, action: &str| json!({"action": action, "message_group": group, "mode": "block_on_error"});
    stage.create(json!([line("a", "fail"), line("a", "ok"), line("b", "ok")])).await;
    let (message_group, by, why) = ("b".into(), "anna".into(), "later".into());
    let operation =
        engine::GroupOperation { message_group, verb: GroupVerb::Pause, head: None, by, why, dry_run: false };
    stage.engine.operate_group(operation).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.states(), "FPP");
    stage.advance(61 * MINUTE).await;
    let found =
        dry_detect(&stage.browse(), StuckPolicy::default(), DetectOrder::default(), stage.clock_now())
            .unwrap();
    let told: Vec<(&str, &str)> =
        found.found.iter().map(|f| (f.rule.as_str(), f.entity_id.as_str())).collect();
    assert_eq!(told, [("message-group-blocked", "a")], "and the step behind it waits by design");
}

#[tokio::test]
async fn a_dispatch_group_that_nobody_has_is_stuck() {
    let stage = Stage::new().await;
    let now = stage.clock_now();
    assert_eq!(would_find(&stage, now), Vec::<String>::new());
    let later = would_find(&stage, now + model::limits::GROUP_LEASE + 6 * MINUTE);
    assert_eq!(later, ["dispatch-group-unowned"; 10]);
}

#[tokio::test]
async fn a_forgotten_breaker_is_stuck_and_one_that_turns_itself_on_is_not() {
    let mut stage = Stage::new().await;
    let off = |until| Breaker { off: true, since: Some(stage.clock_now()), until, ..Breaker::default() };
    let (for_ever, for_days) = (off(None), off(Some(stage.clock_now() + 90 * HOUR)));
    stage.engine.set_breaker(Some(model::DispatchGroup::new("alpha")), for_ever, "anna").await.unwrap();
    stage.engine.set_breaker(Some(model::DispatchGroup::new("beta")), for_days, "anna").await.unwrap();
    stage.create(json!([{"action": "ok", "dispatch_group": "alpha"}])).await;
    stage.advance(25 * HOUR).await;
    stage.settle().await;
    assert_eq!(would_find(&stage, stage.clock_now()), ["breaker-off"], "and what waits for it is not stuck");
}

#[tokio::test]
async fn a_held_step_that_ended_is_told_no_more() {
    let mut stage = Stage::new().await;
    let id = stage.create(json!([{"action": "hold"}])).await[0];
    stage.settle().await;
    stage.advance(61 * MINUTE).await;
    stage.settle().await;
    look(&stage, Remedies::Leave).await;
    let alert = open(&stage).remove(0);
    assert_eq!(
        (alert.entity_id.clone(), alert.message.as_str()),
        (id.to_string(), "step (hold) has been running for 1 h 1 min")
    );
    stage.report(stage.session.id, id, 1, Outcome::Complete { response: None }).await;
    look(&stage, Remedies::Leave).await;
    assert_eq!(open(&stage), []);
    let closed = all(&stage).remove(0);
    assert_eq!((closed.closed_by.as_deref(), closed.auto_resolved), (Some("observed"), false));
}
