//! Things of the user's own tables, reported by an action of theirs and set right by another.

use super::*;
use engine::StartFlow;
use model::{FlowAction, FlowName, NewFlowStep, Remedy, Severity, State, StuckCall};
use serde_json::{Value, json};
use stepfast_testkit::Stage;

/// A rule whose action answers exactly this: `echo` answers what it is given.
fn reported(answer: Value, remedy: Remedy) -> StuckRule {
    let echo = |arguments: Value| StuckCall { action: "echo".into(), queue: None, arguments };
    let by = matches!(remedy, Remedy::Retry | Remedy::Cancel).then(|| echo(json!({"note": "again"})));
    StuckRule {
        entity: None,
        states: Vec::new(),
        detect: Some(echo(answer)),
        detect_every: Some(15 * MINUTE),
        older_than: Duration::ZERO,
        severity: Severity::Medium,
        remedy,
        remedy_by: by,
        status: Some("Your bonus is being checked.".into()),
        ..rule("step-waiting", "bonus-not-credited")
    }
}

fn bonus() -> Value {
    json!([{"entity_type": "bonus", "entity_id": 4711, "user": "u-12", "since": "1970-01-01T00:00:00Z",
            "message": "no ledger entry refers to it", "labels": {"team": "growth"}, "data": {"amount": 500}}])
}

/// Ask, let the action answer, and hear it.
async fn ask_and_hear(stage: &mut Stage, remedies: Remedies) -> Detection {
    let asked = look(stage, remedies).await;
    assert_eq!(asked.asked, ["bonus-not-credited"]);
    stage.settle().await;
    look(stage, remedies).await
}

#[tokio::test]
async fn what_an_action_reports_is_told_escalated_and_closed_when_it_reports_it_no_more() {
    let mut stage = Stage::new().await;
    only(&stage, &[]).await;
    put(&stage, reported(bonus(), Remedy::Escalate)).await;
    let heard = ask_and_hear(&mut stage, Remedies::Apply).await;
    assert_eq!((heard.opened, heard.escalated), (1, 1));
    let alert = open(&stage).remove(0);
    assert_eq!(
        (alert.entity.as_str(), alert.entity_id.as_str(), alert.user.as_deref()),
        ("bonus", "4711", Some("u-12"))
    );
    assert_eq!(
        (alert.message.as_str(), &alert.data),
        ("no ledger entry refers to it", &json!({"amount": 500}))
    );
    assert_eq!(history(&stage, &alert), "opened, admin_notified, user_notified, escalated");
    assert_eq!(
        look(&stage, Remedies::Apply).await.asked,
        Vec::<String>::new(),
        "it is not asked again so soon"
    );
    assert_eq!(open(&stage).len(), 1, "what was not asked for again is not closed");
    put(&stage, reported(json!([]), Remedy::Escalate)).await;
    stage.advance(16 * MINUTE).await;
    let heard = ask_and_hear(&mut stage, Remedies::Apply).await;
    assert_eq!(heard.closed[0].2, "it is not reported any more");
    assert_eq!(open(&stage), []);
}

#[tokio::test]
async fn a_remedy_for_a_thing_of_theirs_is_a_step_of_theirs() {
    let mut stage = Stage::new().await;
    only(&stage, &[]).await;
    put(&stage, reported(bonus(), Remedy::Retry)).await;
    assert_eq!(ask_and_hear(&mut stage, Remedies::Apply).await.remedies, 1);
    stage.settle().await;
    let filter =
        store::Filter { relatable_type: Some("bonus".into()), limit: 10, ..store::Filter::default() };
    let steps = stage.browse().steps(&filter).unwrap();
    assert_eq!((steps.len(), steps[0].step.state), (1, State::Completed));
    let given: Value = serde_json::from_str(&steps[0].step.arguments).unwrap();
    assert_eq!((&given["remedy"], &given["entity_id"]), (&json!("retry"), &json!("4711")));
    assert_eq!((&given["data"]["amount"], &given["arguments"]["note"]), (&json!(500), &json!("again")));
    assert_eq!(steps[0].detail.label.as_deref(), Some("stuck rule bonus-not-credited"));
}

#[tokio::test]
async fn an_answer_that_is_not_understood_opens_and_closes_nothing() {
    let mut stage = Stage::new().await;
    only(&stage, &[]).await;
    put(&stage, reported(bonus(), Remedy::Escalate)).await;
    ask_and_hear(&mut stage, Remedies::Apply).await;
    put(&stage, reported(json!({"bonus": 1}), Remedy::Escalate)).await;
    stage.advance(16 * MINUTE).await;
    let heard = ask_and_hear(&mut stage, Remedies::Apply).await;
    assert!(
        heard.faults[0].starts_with("rule bonus-not-credited: the answer is not understood"),
        "{:?}",
        heard.faults
    );
    assert_eq!(open(&stage).len(), 1);
    assert!(stage.browse().stuck_asks().unwrap()[0].fault.is_some());
}

#[tokio::test]
async fn while_the_worker_of_a_remedy_is_away_there_is_one_step_for_it() {
    let policy = StuckPolicy { cooling_off: 10 * MINUTE, per_entity_per_day: 9, ..StuckPolicy::default() };
    let mut stage = stage_with(policy).await;
    only(&stage, &[]).await;
    let nobody = StuckCall { action: "nobody runs this".into(), queue: None, arguments: json!({}) };
    put(&stage, StuckRule { remedy_by: Some(nobody), ..reported(bonus(), Remedy::Retry) }).await;
    assert_eq!(ask_and_hear(&mut stage, Remedies::Apply).await.remedies, 1);
    let of_bonus =
        store::Filter { relatable_type: Some("bonus".into()), limit: 10, ..store::Filter::default() };
    let first = stage.browse().steps(&of_bonus).unwrap().remove(0).step.id;
    for _ in 0..3 {
        stage.advance(16 * MINUTE).await;
        let heard = ask_and_hear(&mut stage, Remedies::Apply).await;
        assert_eq!(heard.found[0].done, ["renewed", "held: the last remedy has not ended"]);
    }
    assert_eq!(stage.browse().steps(&of_bonus).unwrap().len(), 1);
    let alert = open(&stage).remove(0);
    let events = stage.browse().alert_history(&alert).unwrap();
    let remedy = events.iter().find(|event| event.moment == model::AlertMoment::Remedy).unwrap();
    assert_eq!((remedy.step, remedy.text.clone()), (Some(first), format!("retry by step {first}")));
    stage.operate(first, Some(rules::operator::Verb::Cancel)).await.unwrap();
    stage.advance(16 * MINUTE).await;
    assert_eq!(ask_and_hear(&mut stage, Remedies::Apply).await.remedies, 1, "it has ended, and did not help");
}

/// A flow whose hour is over, which declared what tries it again, and the rule that asks for it.
async fn overdue(stage: &mut Stage, retry: FlowAction) -> model::FlowId {
    only(stage, &[]).await;
    put(stage, StuckRule { remedy: Remedy::Retry, auto: Some(true), ..rule("flow-overdue", "pay-again") })
        .await;
    let name = FlowName {
        kind: "payment".into(),
        key: String::new(),
        entity_type: "payment".into(),
        entity_id: "4711".into(),
    };
    let start = StartFlow {
        steps: vec![NewFlowStep { name: "credited".into(), optional: false }],
        timeout: HOUR,
        retry: Some(retry),
        ..StartFlow::new(name, "bank")
    };
    let flow = stage.engine.flows().start(start).await.expect("it starts").flow.id;
    stage.advance(61 * MINUTE).await;
    flow
}

#[tokio::test]
async fn a_stuck_flow_is_tried_again_by_the_action_it_declared_and_not_by_its_json() {
    let mut stage = Stage::new().await;
    let arguments = serde_json::value::to_raw_value(&json!({"payment": 4711})).unwrap();
    let retry = FlowAction { action: "echo".into(), queue: None, arguments: Some(arguments) };
    let flow = overdue(&mut stage, retry).await;
    assert_eq!(look(&stage, Remedies::Apply).await.remedies, 1);
    stage.settle().await;
    let of_flow =
        store::Filter { relatable_type: Some("flow".into()), limit: 10, ..store::Filter::default() };
    let steps = stage.browse().steps(&of_flow).unwrap();
    assert_eq!((steps.len(), steps[0].step.state), (1, State::Completed), "a worker knows the action");
    assert_eq!((&*steps[0].step.action, &*steps[0].step.arguments), ("echo", r#"{"payment":4711}"#));
    assert_eq!(steps[0].detail.relatable_id.as_deref(), Some(&*flow.to_string()));
}
