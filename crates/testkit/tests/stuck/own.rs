//! What a node tells of itself: told again, taken back, and not told where work is only long.

use super::*;
use engine::Review;
use model::{Outcome, SessionOffer};
use serde_json::json;
use stepfast_testkit::Stage;

fn own(stage: &Stage) -> Vec<Alert> {
    let all = stage.browse().alerts(&AlertFilter { limit: 1_000, ..AlertFilter::default() }).expect("a read");
    all.into_iter().filter(|alert| alert.rule.is_none()).collect()
}

fn own_open(stage: &Stage) -> Vec<String> {
    own(stage)
        .into_iter()
        .filter(Alert::is_open)
        .map(|alert| format!("{} {}", alert.entity_id, alert.reason))
        .collect()
}

#[tokio::test]
async fn a_group_whose_work_runs_for_long_does_not_stand_still() {
    let mut stage = Stage::new().await;
    only(&stage, &[]).await;
    let of_alpha = |action: &str| json!({"action": action, "dispatch_group": "alpha"});
    let long = stage.create(json!([of_alpha("hold"), of_alpha("nobody runs this")])).await[0];
    stage.settle().await;
    stage.advance(30 * MINUTE).await;
    assert_eq!(own_open(&stage), Vec::<String>::new(), "a step of it is in a worker's hands");
    stage.report(stage.session.id, long, 1, Outcome::Complete { response: None }).await;
    stage.settle().await;
    stage.advance(9 * MINUTE).await;
    assert_eq!(own_open(&stage), Vec::<String>::new());
    stage.advance(3 * MINUTE).await;
    assert_eq!(own_open(&stage), ["alpha group_no_progress"], "nothing of it runs, and one waits");
}

#[tokio::test]
async fn a_group_waits_while_every_worker_is_busy_with_others() {
    let mut stage = Stage::new().await;
    only(&stage, &[]).await;
    stage.engine.end_session(stage.session.id).await.unwrap();
    let offer = SessionOffer {
        host: "small".into(),
        queues: vec!["default".into()],
        actions: vec!["hold".into()],
        capacity: 1,
        remote: false,
    };
    stage.session = stage.engine.join(offer).await.unwrap();
    let hold = |group: &str| json!({"action": "hold", "dispatch_group": group});
    let first = stage.create(json!([hold("beta")])).await[0];
    stage.settle().await;
    stage.create(json!([hold("alpha")])).await;
    stage.settle().await;
    stage.advance(30 * MINUTE).await;
    assert_eq!(own_open(&stage), Vec::<String>::new(), "the one place there is is taken");
    stage.report(stage.session.id, first, 1, Outcome::Complete { response: None }).await;
    stage.settle().await;
    assert_eq!(stage.states(), "CR");
}

#[tokio::test]
async fn a_group_that_stands_still_is_told_again_until_somebody_acknowledges_and_taken_back_when_it_moves() {
    let stage = Stage::new().await;
    only(&stage, &[]).await;
    let id = stage.create(json!([{"action": "nobody runs this", "dispatch_group": "alpha"}])).await[0];
    stage.advance(12 * MINUTE).await;
    assert_eq!(own_open(&stage), ["alpha group_no_progress"]);
    let told = own(&stage)[0].admin_notified_at;
    stage.advance(3 * HOUR).await;
    look(&stage, Remedies::Leave).await;
    assert_eq!(own(&stage)[0].admin_notified_at, told, "not yet");
    stage.advance(HOUR).await;
    let done = look(&stage, Remedies::Leave).await;
    assert_eq!(done.found, [], "no rule has found it");
    let alert = own(&stage).remove(0);
    assert!(alert.admin_notified_at > told);
    assert_eq!(history(&stage, &alert), "admin_notified");
    stage.engine.review(alert.id, Review::Acknowledge, "anna".into()).await.unwrap();
    stage.advance(9 * HOUR).await;
    look(&stage, Remedies::Leave).await;
    assert_eq!(history(&stage, &alert), "admin_notified, acknowledged");
    stage.operate(id, Some(rules::operator::Verb::Cancel)).await.unwrap();
    stage.advance(3 * MINUTE).await;
    let alert = own(&stage).remove(0);
    assert_eq!((own_open(&stage).len(), alert.closed_by.as_deref()), (0, Some("observed")));
}

#[tokio::test]
async fn a_step_that_a_rule_could_not_move_is_told_until_it_has_ended() {
    let mut stage = Stage::new().await;
    only(&stage, &[]).await;
    let id = stage.create(json!([{"action": "hold"}])).await[0];
    stage.settle().await;
    let now = stage.clock_now().0;
    plant(
        &stage,
        &format!(
            "insert into alerts (entity, entity_id, reason, severity, message, opened_at, updated_at, since, admin_notified_at, escalated_at)
             values ('step', '{id}', 'illegal_move', 'critical', 'odd', {now}, {now}, {now}, {now}, {now})"
        ),
    )
    .await;
    look(&stage, Remedies::Leave).await;
    assert_eq!(own_open(&stage), [format!("{id} illegal_move")], "it lives");
    stage.advance(5 * HOUR).await;
    look(&stage, Remedies::Leave).await;
    assert_eq!(history(&stage, &own(&stage)[0]), "admin_notified", "told again");
    stage.report(stage.session.id, id, 1, Outcome::Complete { response: None }).await;
    stage.settle().await;
    let done = look(&stage, Remedies::Leave).await;
    assert_eq!(done.closed, [("step".into(), id.to_string(), "it is completed".into())]);
    assert_eq!(own_open(&stage), Vec::<String>::new());
}
