//! Remedies: applied in the name of the rule, verified by looking, bounded, and handed to a person when they do not help.

use super::*;
use engine::Review;
use model::{Outcome, Remedy, State, StepId, Watched, WorkflowId};
use serde_json::json;
use stepfast_testkit::Stage;

const FAST: StuckPolicy =
    StuckPolicy { auto: true, per_hour: 10, per_entity_per_day: 3, cooling_off: Duration::from_secs(600) };

/// Failed steps are tried again after ten minutes.
fn retry() -> StuckRule {
    StuckRule {
        states: vec!["failed".into()],
        older_than: 10 * MINUTE,
        remedy: Remedy::Retry,
        ..rule("step-waiting", "try-again")
    }
}

async fn fail(stage: &mut Stage, step: StepId) {
    let attempt = stage.step(step).step.attempt;
    let failure = model::Failure { message: "no".into(), trace: None };
    stage.report(stage.session.id, step, attempt, Outcome::Fail { failure, notify: true }).await;
    stage.settle().await;
}

/// A step that failed eleven minutes ago, and the rule.
async fn failed(policy: StuckPolicy, action: &str) -> (Stage, StepId) {
    let mut stage = stage_with(policy).await;
    only(&stage, &[]).await;
    put(&stage, retry()).await;
    let id = stage.create(json!([{"action": action}])).await[0];
    stage.settle().await;
    if action == "hold" {
        fail(&mut stage, id).await;
    }
    stage.advance(11 * MINUTE).await;
    (stage, id)
}

#[tokio::test]
async fn a_remedy_that_helps_resolves_the_alert_when_that_was_seen() {
    let (mut stage, id) = failed(FAST, "hold").await;
    let done = look(&stage, Remedies::Apply).await;
    assert_eq!((done.opened, done.remedies), (1, 1));
    stage.settle().await;
    assert_eq!(stage.states(), "UR", "a new step took its place");
    let audit = &stage.browse().audit(1).unwrap()[0].1;
    assert_eq!((audit.who.as_str(), audit.verb.as_str()), ("stuck rule try-again", "retry"));
    look(&stage, Remedies::Apply).await;
    let alert = open(&stage).remove(0);
    assert_eq!((alert.attempts, alert.entity_id.clone()), (1, id.to_string()), "attempted is not resolved");
    let instead = stage.step(id).detail.superseded_by.unwrap();
    stage.report(stage.session.id, instead, 1, Outcome::Complete { response: None }).await;
    stage.settle().await;
    look(&stage, Remedies::Apply).await;
    let alert = all(&stage).remove(0);
    assert_eq!(
        (alert.closed_by.as_deref(), alert.auto_resolved, all(&stage).len()),
        (Some("observed"), true, 1)
    );
    assert_eq!(history(&stage, &alert), "opened, admin_notified, remedy, closed");
}

#[tokio::test]
async fn a_remedy_that_never_helps_ends_in_the_review_queue() {
    let (mut stage, _) = failed(FAST, "fail").await;
    let mut remedies = 0;
    for _ in 0..6 {
        remedies += look(&stage, Remedies::Apply).await.remedies;
        stage.settle().await;
        stage.advance(11 * MINUTE).await;
    }
    assert_eq!((remedies, stage.states().as_str()), (3, "UUUF"));
    let alert = open(&stage).remove(0);
    assert_eq!((open(&stage).len(), alert.attempts, alert.is_in_review()), (1, 3, true));
    assert_eq!(history(&stage, &alert), "opened, admin_notified, remedy, remedy, remedy, escalated");
}

#[tokio::test]
async fn between_two_attempts_there_is_time() {
    let (mut stage, _) = failed(StuckPolicy { cooling_off: HOUR, ..FAST }, "fail").await;
    assert_eq!(look(&stage, Remedies::Apply).await.remedies, 1);
    stage.settle().await;
    stage.advance(30 * MINUTE).await;
    let held = look(&stage, Remedies::Apply).await;
    assert_eq!(held.found[0].done, ["renewed", "held: the last remedy was a short while ago"]);
    stage.advance(31 * MINUTE).await;
    assert_eq!(look(&stage, Remedies::Apply).await.remedies, 1);
}

#[tokio::test]
async fn an_hour_has_room_for_so_many_remedies() {
    let mut stage = stage_with(StuckPolicy { per_hour: 4, ..FAST }).await;
    only(&stage, &[]).await;
    put(&stage, retry()).await;
    let many: Vec<_> = (0..6).map(|_| json!({"action": "fail"})).collect();
    stage.create(json!(many)).await;
    stage.settle().await;
    stage.advance(11 * MINUTE).await;
    let done = look(&stage, Remedies::Apply).await;
    assert_eq!((done.opened, done.remedies), (6, 4));
    stage.settle().await;
    stage.advance(15 * MINUTE).await;
    assert_eq!(look(&stage, Remedies::Apply).await.remedies, 0);
    stage.advance(46 * MINUTE).await;
    assert_eq!(look(&stage, Remedies::Apply).await.remedies, 4, "the hour is over");
}

const ORDER: &str = "workflow: order\nversion: 1.0.0\nsteps:\n  - { key: a, action: fail }\n";

async fn failing_workflow(stage: &mut Stage) -> WorkflowId {
    only(stage, &[]).await;
    let again = StuckRule {
        older_than: 10 * MINUTE,
        severity: model::Severity::High,
        remedy: Remedy::Retry,
        attempts: 10,
        ..rule("workflow-failed", "order-again")
    };
    put(stage, again).await;
    let id = stage.run(ORDER, json!({})).await;
    stage.advance(11 * MINUTE).await;
    id
}

#[tokio::test]
async fn a_day_has_room_for_so_many_remedies_of_one_thing() {
    let mut stage = stage_with(FAST).await;
    let id = failing_workflow(&mut stage).await;
    let mut told = Vec::new();
    for _ in 0..8 {
        let done = look(&stage, Remedies::Apply).await;
        told.extend(done.found.iter().flat_map(|one| one.done.clone()).filter(|word| word != "opened"));
        stage.settle().await;
        stage.advance(11 * MINUTE).await;
    }
    let retries = told.iter().filter(|word| *word == "retry").count();
    assert_eq!(retries, 3, "{told:?}");
    assert!(told.contains(&"escalated: it had as many remedies as a day allows".to_string()), "{told:?}");
    assert!(stage.flow(id).starts_with("failed"), "{}", stage.flow(id));
}

#[tokio::test]
async fn the_switch_stops_all_remedies_and_nothing_else() {
    let (mut stage, _) = failed(FAST, "fail").await;
    stage.engine.set_stuck_auto(Remedies::Leave, "anna".into()).await.unwrap();
    let done = look(&stage, Remedies::Apply).await;
    assert_eq!(done.found[0].done, ["opened", "admin told", "held: remedies are switched off"]);
    stage.engine.set_stuck_auto(Remedies::Apply, "anna".into()).await.unwrap();
    assert_eq!(look(&stage, Remedies::Apply).await.remedies, 1);
    let verbs: Vec<String> = stage.browse().audit(3).unwrap().iter().map(|(_, e)| e.verb.clone()).collect();
    assert!(verbs.contains(&"switch stuck remedies".to_string()), "{verbs:?}");
    stage.settle().await;
    let (off, _) = failed(StuckPolicy { auto: false, ..FAST }, "fail").await;
    assert_eq!(look(&off, Remedies::Apply).await.remedies, 0, "the configuration switches them off too");
}

#[tokio::test]
async fn what_a_person_has_in_hand_no_rule_touches() {
    let (stage, _) = failed(FAST, "fail").await;
    look(&stage, Remedies::Leave).await;
    let id = open(&stage)[0].id;
    stage.engine.review(id, Review::Note { text: "mine".into() }, "anna".into()).await.unwrap();
    let done = look(&stage, Remedies::Apply).await;
    assert_eq!((done.remedies, done.found[0].done.as_slice()), (0, ["renewed".to_string()].as_slice()));
}

/// Whatever a person had resolved was told and tried again by the next look, for it had not moved.
#[tokio::test]
async fn what_a_person_has_resolved_is_left_alone_until_it_moves() {
    let (mut stage, first) = failed(FAST, "hold").await;
    assert_eq!(look(&stage, Remedies::Apply).await.remedies, 1);
    stage.settle().await;
    let second = stage.step(first).detail.superseded_by.unwrap();
    fail(&mut stage, second).await;
    let id = open(&stage)[0].id;
    let done = Review::Resolve { notes: "refunded by hand".into() };
    stage.engine.review(id, done, "anna".into()).await.unwrap();
    stage.advance(30 * MINUTE).await;
    let done = look(&stage, Remedies::Apply).await;
    assert_eq!((done.opened, done.remedies), (0, 0), "{:?}", done.found);
    stage.operate(second, None).await.unwrap();
    stage.settle().await;
    let third = stage.step(second).detail.superseded_by.unwrap();
    fail(&mut stage, third).await;
    stage.advance(11 * MINUTE).await;
    assert_eq!(look(&stage, Remedies::Leave).await.opened, 1, "it failed anew");
}

#[tokio::test]
async fn a_cancel_waits_for_a_person_unless_the_rule_says_otherwise() {
    let mut stage = stage_with(FAST).await;
    only(&stage, &[]).await;
    let cancel = StuckRule { remedy: Remedy::Cancel, ..rule("step-waiting", "too-long") };
    put(&stage, cancel.clone()).await;
    let id = stage.create(json!([{"action": "nobody runs this"}])).await[0];
    stage.advance(61 * MINUTE).await;
    stage.settle().await;
    assert_eq!(look(&stage, Remedies::Apply).await.remedies, 0);
    put(&stage, StuckRule { auto: Some(true), ..cancel }).await;
    assert_eq!(look(&stage, Remedies::Apply).await.remedies, 1);
    assert_eq!(stage.step(id).step.state, State::Cancelled);
    look(&stage, Remedies::Apply).await;
    assert_eq!((open(&stage).len(), all(&stage)[0].auto_resolved), (0, true));
}

#[tokio::test]
async fn nothing_is_retried_while_it_is_undone() {
    let mut stage = stage_with(FAST).await;
    only(&stage, &[]).await;
    let again =
        StuckRule { older_than: MINUTE, remedy: Remedy::Retry, ..rule("compensation-still", "undo-again") };
    put(&stage, again).await;
    let yaml = "
workflow: undone
version: 1.0.0
on_failure: auto_compensate
steps:
  - { key: a, action: ok, compensation: { action: hold } }
  - { key: b, action: fail }
";
    let id = stage.run(yaml, json!({})).await;
    stage.advance(5 * MINUTE).await;
    let done = look(&stage, Remedies::Apply).await;
    assert_eq!(done.found[0].done, ["opened", "admin told", "held: it is undone or called off"]);
    assert!(stage.flow(id).starts_with("compensating"), "{}", stage.flow(id));
}

#[tokio::test]
async fn a_remedy_that_is_refused_goes_to_a_person_at_once() {
    let mut stage = stage_with(FAST).await;
    only(&stage, &[]).await;
    // A step that waits cannot be retried.
    put(&stage, StuckRule { remedy: Remedy::Retry, ..rule("step-waiting", "wrong") }).await;
    stage.create(json!([{"action": "nobody runs this"}])).await;
    stage.advance(61 * MINUTE).await;
    stage.settle().await;
    let done = look(&stage, Remedies::Apply).await;
    assert_eq!((done.remedies, done.failed), (1, 1));
    let alert = open(&stage).remove(0);
    assert!(alert.is_in_review());
    assert_eq!(history(&stage, &alert), "opened, admin_notified, remedy, remedy_failed, escalated");
}

#[tokio::test]
async fn a_blocked_message_group_can_be_requeued_by_a_rule() {
    let mut stage = stage_with(FAST).await;
    only(&stage, &[]).await;
    put(&stage, StuckRule { remedy: Remedy::Retry, ..rule("message-group-blocked", "unblock") }).await;
    let line = |action: &str| json!({"action": action, "message_group": "a", "mode": "block_on_error"});
    let first = stage.create(json!([line("hold"), line("ok")])).await[0];
    stage.settle().await;
    fail(&mut stage, first).await;
    stage.advance(61 * MINUTE).await;
    assert_eq!(look(&stage, Remedies::Apply).await.remedies, 1);
    stage.settle().await;
    let instead = stage.step(first).detail.superseded_by.unwrap();
    stage.report(stage.session.id, instead, 1, Outcome::Complete { response: None }).await;
    stage.settle().await;
    look(&stage, Remedies::Apply).await;
    assert_eq!((open(&stage).len(), stage.states().as_str()), (0, "UCC"));
    assert_eq!(all(&stage)[0].entity, Watched::MessageGroup.word());
}
