//! What is told: steps that failed, workflows as a whole, pauses; to those that want it.

use super::*;
use engine::StartWorkflow;
use model::{Failure, Outcome, SessionOffer, State};
use rules::settle::Mode;
use std::time::Duration;

#[tokio::test]
async fn a_failed_step_is_told_once_and_says_so() {
    let mut stage = stage(vec![ops()]).await;
    let ids = stage
        .create(json!([{"action": "fail"}, {"action": "ok"}, {"action": "retry", "max_attempts": 1}]))
        .await;
    stage.settle().await;
    assert_eq!(kinds(&stage, "ops"), ["step.failed", "step.failed"]);
    let letter = &letters(&stage, "ops")[0];
    assert_eq!(letter["source"], format!("/v1/steps/{}", ids[0]));
    assert_eq!(
        (
            &letter["data"]["severity"],
            &letter["data"]["title"],
            &letter["data"]["text"],
            &letter["data"]["key"]
        ),
        (
            &json!("medium"),
            &json!("a step `fail` failed"),
            &json!("fail it did"),
            &json!(format!("step.failed/{}", ids[0]))
        )
    );
    let told: Vec<Option<bool>> = ids.iter().map(|id| stage.step(*id).detail.was_notified).collect();
    assert_eq!(told, [Some(true), None, Some(true)]);
    stage.crash().await;
    stage.settle().await;
    assert_eq!(kinds(&stage, "ops").len(), 2, "a crash tells nothing again");
}

#[tokio::test]
async fn a_job_that_asks_not_to_tell_is_not_told_of() {
    let mut stage = stage(vec![ops()]).await;
    let id = stage.create(json!([{"action": "hold"}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    let claim = stage.handed().remove(0);
    let failure = Failure { message: "known already".into(), trace: None };
    stage.report(stage.session.id, id, claim.attempt, Outcome::Fail { failure, notify: false }).await;
    stage.settle().await;
    assert_eq!((kinds(&stage, "ops").len(), stage.step(id).detail.was_notified), (0, Some(false)));
}

#[tokio::test]
async fn without_a_channel_nothing_is_told_nor_written() {
    let mut stage = stage(vec![]).await;
    let id = stage.create(json!([{"action": "fail"}])).await[0];
    stage.settle().await;
    assert_eq!(stage.step(id).detail.was_notified, None);
    assert_eq!((stage.states().as_str(), stage.browse().notices(9).unwrap().len()), ("F", 0));
}

#[tokio::test]
async fn children_are_told_and_not_the_parents_that_fail_with_them() {
    let mut stage = stage(vec![ops()]).await;
    stage
        .create(json!([{"action": "ok", "children": [{"action": "ok", "children": [{"action": "fail"}]}]}]))
        .await;
    stage.settle().await;
    assert_eq!(kinds(&stage, "ops").len(), 1);
    assert_eq!(letters(&stage, "ops")[0]["data"]["title"], "a step `fail` failed");
}

/// A channel that cannot be reached is told nothing about that: it would go on for ever.
#[tokio::test]
async fn a_delivery_that_fails_is_not_told() {
    let mut stage = stage(vec![ops(), webhook("other", "https://example.com/other")]).await;
    stage.create(json!([{"action": "fail"}])).await;
    stage.settle().await;
    let (host, queues) = ("elsewhere".into(), vec!["default".into()]);
    let offer = SessionOffer { host, queues, actions: vec!["deliver".into()], capacity: 9, remote: false };
    let mut session = stage.engine.join(offer).await.unwrap();
    stage.decide(Mode::FixedPoint).await;
    for claim in session.work.try_recv().unwrap().claims {
        let failure = Failure { message: "no such host".into(), trace: None };
        stage.report(session.id, claim.step, claim.attempt, Outcome::Fail { failure, notify: true }).await;
    }
    stage.settle().await;
    for channel in ["ops", "other"] {
        let states: Vec<State> = deliveries(&stage, channel).iter().map(|row| row.step.state).collect();
        assert_eq!(states, [State::Failed], "{channel}");
    }
}

#[tokio::test]
async fn channels_are_told_what_they_ask_for() {
    let severe = changed(webhook("severe", "https://example.com/a"), |c| c.min_severity = Severity::High);
    let steps = changed(webhook("steps", "https://example.com/b"), |c| c.kinds = vec!["step.*".into()]);
    let team = [("team".to_string(), "a".to_string())];
    let labelled = changed(webhook("labelled", "https://example.com/c"), |c| c.labels = team.clone().into());
    let off = changed(webhook("off", "https://example.com/d"), |c| c.active = false);
    let mut stage = stage(vec![ops(), severe, steps, labelled, off]).await;
    stage.define("workflow: bad\nversion: 1.0.0\nsteps:\n  - { key: a, action: fail }\n").await;
    stage.create(json!([{"action": "fail"}])).await;
    stage.start("bad", json!({})).await;
    let start = StartWorkflow { labels: team.into(), ..StartWorkflow::of("bad").with(&json!({})).unwrap() };
    stage.engine.start_workflow(start).await.unwrap();
    stage.settle().await;
    let told = |channel: &str| {
        let mut kinds = kinds(&stage, channel);
        kinds.sort();
        kinds.join(" ")
    };
    assert_eq!(told("ops"), "step.failed workflow.failed workflow.failed");
    assert_eq!(told("severe"), "workflow.failed workflow.failed");
    assert_eq!(told("steps"), "step.failed");
    assert_eq!(told("labelled"), "workflow.failed");
    assert_eq!(told("off"), "");
}

#[tokio::test]
async fn of_a_workflow_the_failure_of_the_whole_is_told_and_a_user_is_told_a_sentence() {
    let people = changed(webhook("people", "https://example.com/u"), |c| c.audience = Audience::User);
    let mut stage = stage(vec![ops(), people]).await;
    stage.define("workflow: order\nversion: 1.0.0\nsteps:\n  - { key: a, action: fail }\n").await;
    let labels = [("user".to_string(), "ada".to_string())].into();
    let start = StartWorkflow { labels, ..StartWorkflow::of("order").with(&json!({})).unwrap() };
    let id = stage.engine.start_workflow(start).await.unwrap().id;
    stage.settle().await;
    assert_eq!(stage.flow(id), "failed: a F");
    assert_eq!(kinds(&stage, "ops"), ["workflow.failed"]);
    let data = letters(&stage, "ops")[0]["data"].clone();
    assert_eq!(
        (&data["severity"], &data["user"], &data["details"]["awaits"], &data["entity"]["id"]),
        (&json!("high"), &json!("ada"), &json!("decision"), &json!(id.to_string()))
    );
    assert!(data["text"].as_str().unwrap().contains("fail it did"), "{data}");
    let user = letters(&stage, "people").remove(0);
    let keys: Vec<&String> = user["data"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["at", "entity", "sentence", "type", "user"]);
    assert_eq!(
        (&user["data"]["user"], &user["data"]["sentence"], &user["data"]["type"]),
        (&json!("ada"), &json!("Something went wrong, and somebody looks at it."), &json!("workflow.failed"))
    );
    assert!(!user.to_string().contains("fail it did"), "{user}");
}

#[tokio::test]
async fn a_failure_that_follows_its_strategy_is_less_grave() {
    let mut stage = stage(vec![ops()]).await;
    let yaml = "
workflow: again
version: 1.0.0
on_failure: { strategy: auto_retry, max_retries: 1, delay: 60s }
steps:
  - { key: a, action: fail }
";
    stage.run(yaml, json!({})).await;
    stage.leap(Duration::from_secs(61)).await;
    let told: Vec<Value> = letters(&stage, "ops").iter().map(|l| l["data"]["severity"].clone()).collect();
    assert_eq!(told, ["low", "high"], "tried again, and then somebody is needed");
}

#[tokio::test]
async fn a_pause_is_told_when_it_begins_and_when_it_is_reminded_of_and_without_its_token() {
    let people = changed(webhook("people", "https://example.com/u"), |c| c.audience = Audience::User);
    let mut stage = stage(vec![ops(), people]).await;
    let yaml = "
workflow: ask
version: 1.0.0
steps:
  - key: a
    action: ok
    status_message: Your order waits for the boss.
    pause_after: { trigger: boss, auth: token, timeout: 1h, on_timeout: remind, notify: \"https://example.com/own\" }
";
    let id = stage.run(yaml, json!({})).await;
    stage.leap(Duration::from_secs(3_601)).await;
    assert_eq!(kinds(&stage, "ops"), ["pause.begun", "pause.reminded"]);
    for letter in letters(&stage, "ops") {
        assert!(
            letter["data"]["details"]["page"].as_str().unwrap().ends_with(&format!("/approve/{id}/boss")),
            "{letter}"
        );
        assert!(
            !letter.to_string().contains("token") && !letter.to_string().contains("[secret]"),
            "{letter}"
        );
    }
    let sentences: Vec<Value> =
        letters(&stage, "people").iter().map(|l| l["data"]["sentence"].clone()).collect();
    assert_eq!(sentences, ["Your order waits for the boss.", "Your order waits for the boss."]);
    let own = Filter { relatable_type: Some("workflow".into()), limit: 9, ..Filter::default() };
    assert_eq!(
        stage.browse().steps(&own).unwrap().len(),
        2,
        "whoever the definition names is told as before"
    );
}

#[tokio::test]
async fn what_is_sealed_in_an_error_is_told_to_nobody() {
    let mut stage = stage(vec![ops()]).await;
    let yaml = "
workflow: secret
version: 1.0.0
secrets: [input.card]
steps:
  - { key: a, action: hold, arguments: { card: \"${input.card}\" } }
";
    stage.define(yaml).await;
    stage.start("secret", json!({"card": "CANARY-4111"})).await;
    stage.decide(Mode::FixedPoint).await;
    let claim = stage.handed().remove(0);
    let failure = Failure { message: "CANARY-4111 was refused".into(), trace: None };
    stage.report(stage.session.id, claim.step, claim.attempt, Outcome::Fail { failure, notify: true }).await;
    stage.settle().await;
    let letter = letters(&stage, "ops").remove(0).to_string();
    assert!(letter.contains("[secret] was refused") && !letter.contains("CANARY"), "{letter}");
}
