//! Alerts: one for each thing and reason, renewed, told by severity, reviewed by people, closed by what is seen.

use super::*;
use engine::Review;
use model::Severity;
use serde_json::json;
use stepfast_testkit::{Stage, everything};

async fn lost(stage: &mut Stage) -> model::StepId {
    let id = stage.create(json!([{"action": "nobody runs this", "label": "charge"}])).await[0];
    stage.advance(61 * MINUTE).await;
    stage.settle().await;
    id
}

#[tokio::test]
async fn an_alert_is_opened_once_renewed_and_closed_when_the_step_has_left() {
    let mut stage = Stage::new().await;
    let id = lost(&mut stage).await;
    let first = look(&stage, Remedies::Leave).await;
    assert_eq!((first.opened, first.found.len()), (1, 1));
    let alert = open(&stage).remove(0);
    assert_eq!((alert.entity.as_str(), alert.entity_id.clone()), ("step", id.to_string()));
    assert_eq!(
        (alert.rule.as_deref(), alert.severity, alert.seen),
        (Some("step-waiting"), Severity::High, 1)
    );
    assert_eq!(alert.message, "step charge (nobody runs this) has been pending for 1 h 1 min");
    stage.advance(30 * MINUTE).await;
    let second = look(&stage, Remedies::Leave).await;
    assert_eq!((second.opened, second.found.len()), (0, 1));
    let alert = open(&stage).remove(0);
    assert_eq!(
        (alert.seen, alert.message.as_str()),
        (2, "step charge (nobody runs this) has been pending for 1 h 31 min")
    );
    assert_eq!(alert.duration(stage.clock_now()), 91 * MINUTE);
    stage.operate(id, Some(rules::operator::Verb::Cancel)).await.unwrap();
    let third = look(&stage, Remedies::Leave).await;
    assert_eq!(third.closed, [("step".into(), id.to_string(), "it was cancelled".into())]);
    let alert = all(&stage).remove(0);
    assert_eq!((alert.closed_by.as_deref(), open(&stage).len()), (Some("observed"), 0));
    assert_eq!(history(&stage, &alert), "opened, admin_notified, closed");
    look(&stage, Remedies::Leave).await;
    assert_eq!(all(&stage).len(), 1, "what is over stays over");
}

#[tokio::test]
async fn a_grave_alert_is_told_again_until_somebody_acknowledges_it() {
    let mut stage = Stage::new().await;
    lost(&mut stage).await;
    look(&stage, Remedies::Leave).await;
    let told = open(&stage)[0].admin_notified_at;
    assert!(told.is_some());
    stage.advance(3 * HOUR).await;
    look(&stage, Remedies::Leave).await;
    assert_eq!(open(&stage)[0].admin_notified_at, told, "not yet");
    stage.advance(61 * MINUTE).await;
    look(&stage, Remedies::Leave).await;
    assert!(open(&stage)[0].admin_notified_at > told);
    let alert = open(&stage).remove(0);
    stage.engine.review(alert.id, Review::Acknowledge, "anna".into()).await.unwrap();
    stage.advance(9 * HOUR).await;
    look(&stage, Remedies::Leave).await;
    assert_eq!(history(&stage, &alert), "opened, admin_notified, admin_notified, acknowledged");
}

#[tokio::test]
async fn whoever_the_work_is_for_is_told_once_in_the_words_of_the_rule() {
    let mut stage = Stage::new().await;
    only(&stage, &[]).await;
    let sentence = Some("It takes longer than usual.".to_string());
    put(&stage, StuckRule { status: sentence, severity: Severity::Low, ..rule("step-waiting", "slow") })
        .await;
    stage
        .create(json!([{"action": "nobody runs this", "relatable_type": "user", "relatable_id": "u-7"}]))
        .await;
    stage.advance(61 * MINUTE).await;
    stage.settle().await;
    look(&stage, Remedies::Leave).await;
    look(&stage, Remedies::Leave).await;
    let alert = open(&stage).remove(0);
    assert_eq!(
        (alert.user.as_deref(), alert.status.as_deref()),
        (Some("u-7"), Some("It takes longer than usual."))
    );
    assert!(alert.user_notified_at.is_some() && alert.admin_notified_at.is_none(), "low is for the log");
    assert_eq!(history(&stage, &alert), "opened, user_notified");
}

#[tokio::test]
async fn people_work_through_the_queue_and_all_of_it_is_on_record() {
    let mut stage = Stage::new().await;
    put(&stage, StuckRule { severity: Severity::Critical, ..rule("step-waiting", "step-waiting") }).await;
    lost(&mut stage).await;
    look(&stage, Remedies::Leave).await;
    let id = open(&stage)[0].id;
    assert!(open(&stage)[0].is_in_review(), "a critical one is in the queue at once");
    let act = async |wanted: Review| {
        stage.engine.review(id, wanted, "anna".into()).await.map_err(|e| e.to_string())
    };
    act(Review::Acknowledge).await.unwrap();
    assert_eq!(act(Review::Acknowledge).await.unwrap_err(), format!("alert {id}: anna has acknowledged it"));
    act(Review::Assign { to: Some("bo".into()) }).await.unwrap();
    act(Review::Note { text: "asked the team".into() }).await.unwrap();
    act(Review::Resolve { notes: "a worker was started".into() }).await.unwrap();
    assert_eq!(open(&stage), []);
    act(Review::Reopen { why: "it was not".into() }).await.unwrap();
    let alert = open(&stage).remove(0);
    assert_eq!((alert.assigned_to.as_deref(), alert.reviewed_by.as_deref()), (Some("bo"), Some("anna")));
    assert_eq!(
        history(&stage, &alert),
        "opened, admin_notified, escalated, acknowledged, assigned, note, resolved, reopened"
    );
    let audit = stage.browse().audit(5).unwrap();
    let verbs: Vec<String> = audit.iter().map(|(_, entry)| format!("{} {}", entry.who, entry.verb)).collect();
    assert_eq!(
        verbs,
        ["anna alert reopen", "anna alert resolve", "anna alert note", "anna alert assign", "anna alert ack"]
    );
    let last = &audit[0].1;
    let both = (last.before.as_deref(), last.after.as_deref());
    let seen = ", acknowledged by anna, assigned to bo";
    assert_eq!(both, (Some(&*format!("closed{seen}")), Some(&*format!("open, in review{seen}"))));
    assert!(act(Review::Reopen { why: "?".into() }).await.unwrap_err().contains("it is open"));
    assert!(stage.engine.review(99, Review::Acknowledge, "anna".into()).await.is_err());
}

#[tokio::test]
async fn a_dry_run_tells_everything_and_writes_nothing() {
    let mut stage = Stage::new().await;
    lost(&mut stage).await;
    let before = everything(&stage.database()).await;
    let order = DetectOrder { remedies: Remedies::Apply, scope: Scope::All };
    let found = dry_detect(&stage.browse(), StuckPolicy::default(), order, stage.clock_now()).unwrap();
    assert_eq!(found.found[0].done, ["opened", "admin told"]);
    assert!(everything(&stage.database()).await == before, "something was written");
}

#[tokio::test]
async fn a_rule_that_is_switched_off_takes_its_alerts_with_it() {
    let mut stage = Stage::new().await;
    lost(&mut stage).await;
    look(&stage, Remedies::Leave).await;
    put(&stage, StuckRule { enabled: false, ..rule("step-waiting", "step-waiting") }).await;
    let done = look(&stage, Remedies::Leave).await;
    assert_eq!(done.closed[0].2, "its rule is switched off");
    stage.engine.remove_stuck_rule("step-waiting".into(), "anna".into()).await.unwrap();
    assert_eq!(look(&stage, Remedies::Leave).await.opened, 1, "as it was from the start");
}

#[tokio::test]
async fn the_leader_looks_by_itself() {
    let stuck = StuckConfig { every: Some(15 * MINUTE), ..StuckConfig::default() };
    let secrets = stepfast_testkit::keys("k1");
    let mut stage = Stage::with(Config {
        by_hand: true,
        full_history: true,
        host: "stage".into(),
        secrets,
        stuck,
        ..Config::default()
    })
    .await;
    stage.create(json!([{"action": "nobody runs this"}])).await;
    stage.settle().await;
    for _ in 0..5 {
        stage.advance(15 * MINUTE).await;
        stage.settle().await;
        // A look that was begun is over when one that waits for it is.
        stage.engine.detect(DetectOrder { remedies: Remedies::Leave, scope: Scope::Answers }).await.unwrap();
    }
    assert_eq!(open(&stage).len(), 1);
}

#[tokio::test]
async fn figures_tell_what_is_open_and_how_it_ended() {
    let mut stage = Stage::new().await;
    // Before a group is told that nothing moves.
    put(&stage, StuckRule { older_than: 3 * MINUTE, ..rule("step-waiting", "step-waiting") }).await;
    let id = stage.create(json!([{"action": "nobody runs this"}])).await[0];
    stage.advance(4 * MINUTE).await;
    stage.create(json!([{"action": "nobody runs this"}])).await;
    look(&stage, Remedies::Leave).await;
    stage.operate(id, Some(rules::operator::Verb::Cancel)).await.unwrap();
    stage.advance(4 * MINUTE).await;
    stage.settle().await;
    look(&stage, Remedies::Leave).await;
    let figures = stage.browse().alert_figures(stage.clock_now() - 24 * HOUR).unwrap();
    assert_eq!((figures.open, figures.closed, figures.auto_resolved), (1, 1, 0));
    assert_eq!(figures.median_to_resolve, Some(8 * MINUTE));
    assert_eq!(figures.by_severity.get("high"), Some(&1));
}

/// What a person had opened again was closed by the next look without a word, for the step had ended.
#[tokio::test]
async fn what_a_person_opened_again_only_a_person_closes() {
    let mut stage = Stage::new().await;
    only(&stage, &["step-waiting"]).await;
    let step = lost(&mut stage).await;
    look(&stage, Remedies::Leave).await;
    let id = open(&stage)[0].id;
    stage.operate(step, Some(rules::operator::Verb::Cancel)).await.unwrap();
    look(&stage, Remedies::Leave).await;
    assert_eq!(open(&stage), [], "it has left its state");
    let why = "the customer was charged all the same".into();
    stage.engine.review(id, Review::Reopen { why }, "anna".into()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(look(&stage, Remedies::Apply).await.closed, []);
        stage.advance(HOUR).await;
    }
    assert_eq!((open(&stage).len(), open(&stage)[0].is_in_review()), (1, true));
    put(&stage, StuckRule { enabled: false, ..rule("step-waiting", "step-waiting") }).await;
    look(&stage, Remedies::Apply).await;
    assert_eq!(open(&stage).len(), 1, "whatever becomes of its rule");
    let notes = "paid back".into();
    stage.engine.review(id, Review::Resolve { notes }, "anna".into()).await.unwrap();
    look(&stage, Remedies::Apply).await;
    let alert = all(&stage).remove(0);
    assert_eq!((open(&stage).len(), alert.closed_by.as_deref()), (0, Some("anna")));
}

#[tokio::test]
async fn rules_that_the_configuration_names_no_more_go_at_the_next_start() {
    let named = |names: &[&str]| names.iter().map(|name| rule("step-waiting", name)).collect();
    let mut stage = stage_with(StuckPolicy::default()).await;
    put(&stage, rule("step-waiting", "by-hand")).await;
    let on_record = |stage: &Stage| -> Vec<String> {
        stage.browse().stuck_rules().unwrap().into_iter().map(|stored| stored.rule.name).collect()
    };
    stage.config.stuck.rules = named(&["one", "two"]);
    stage.crash().await;
    assert_eq!(on_record(&stage), ["by-hand", "one", "two"]);
    stage.config.stuck.rules = named(&["two"]);
    stage.crash().await;
    assert_eq!(on_record(&stage), ["by-hand", "one", "two"], "whoever does a single thing removes nothing");
    stage.config.stuck.left_out = engine::LeftOut::Remove;
    stage.crash().await;
    assert_eq!(on_record(&stage), ["by-hand", "two"], "and what was put over the API stays");
    let audit = &stage.browse().audit(1).unwrap()[0].1;
    assert_eq!((audit.who.as_str(), audit.verb.as_str()), ("the configuration", "remove stuck rule"));
}
