//! Subscriptions: whoever asked is told of what happens to workflows, signed, and of nothing else.
#![allow(clippy::unwrap_used)]

use engine::{Config, EngineError, SecretChange, StartWorkflow, SubscriptionChange};
use model::{NewSubscription, State, Subscription};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use stepfast_testkit::{Receiver, Stage, everything, holds, keys};
use store::{Database, Filter, StepRow};
use worker::{HttpAllow, Registry, Runner, RunnerConfig, Signing, register_builtin, register_deliver};

struct Scene {
    stage: Stage,
    runner: Runner,
    receiver: Receiver,
}

const ORDER: &str = "
workflow: order
version: 1.0.0
labels: { shop: eu }
steps:
  - { key: check, action: noop }
  - { key: gift, action: noop, when: has(input.gift) }
";

impl Scene {
    async fn set(answers: &'static [&'static str]) -> Scene {
        let config = Config { host: "stage".into(), secrets: keys("k1"), ..Config::default() };
        let stage = Stage::with(config).await;
        let receiver = Receiver::answering(answers).await;
        let mut registry = Registry::default();
        register_builtin(&mut registry);
        let allow = HttpAllow::read(std::slice::from_ref(&receiver.place)).unwrap();
        register_deliver(&mut registry, &allow, &Signing::default()).unwrap();
        let config = RunnerConfig { clock: Arc::new(stage.clock.clone()), ..RunnerConfig::default() };
        let runner = Runner::start(stage.engine.clone(), registry, config).await.unwrap();
        stage.define(ORDER).await;
        stage.define(&ORDER.replace("workflow: order", "workflow: other")).await;
        Scene { stage, runner, receiver }
    }

    fn asked(&self, types: &[&str]) -> NewSubscription {
        NewSubscription {
            name: "shop".into(),
            url: self.receiver.url(),
            types: types.iter().map(ToString::to_string).collect(),
            active: true,
            ..NewSubscription::default()
        }
    }

    async fn subscribe(&self, asked: NewSubscription) -> (Subscription, String) {
        let (made, secret) = self.stage.engine.add_subscription(asked, None, "me".into()).await.unwrap();
        (made, secret.reveal().to_string())
    }

    /// What is to be delivered, or was.
    fn deliveries(&self, of: &Subscription) -> Vec<StepRow> {
        let filter = Filter {
            relatable_type: Some("subscription".into()),
            relatable_id: Some(of.id.to_string()),
            ascending: true,
            limit: 1_000,
            ..Filter::default()
        };
        self.stage.browse().steps(&filter).unwrap()
    }

    /// Until every workflow and every delivery is over.
    async fn rest(&self) {
        let mut look = tokio::time::interval(Duration::from_millis(20));
        for _ in 0..500 {
            look.tick().await;
            let open = Filter {
                states: State::ALL.iter().copied().filter(|s| !s.is_terminal()).collect(),
                limit: 1,
                ..Filter::default()
            };
            if self.stage.browse().steps(&open).unwrap().is_empty() {
                return;
            }
            self.stage.advance(Duration::from_secs(1)).await;
        }
        panic!("it does not come to rest: {}", self.stage.states());
    }

    async fn end(self) {
        self.runner.stop(Duration::from_secs(5)).await;
    }
}

#[tokio::test]
async fn an_event_is_delivered_signed_and_as_the_api_tells_it() {
    let scene = Scene::set(&["200 OK"]).await;
    let (made, secret) = scene.subscribe(scene.asked(&["workflow.*"])).await;
    let id = scene.stage.start("order", json!({})).await;
    scene.rest().await;
    let mut kinds = scene.receiver.kinds();
    kinds.sort();
    assert_eq!(kinds, ["stepfast.workflow.started", "stepfast.workflow.succeeded"], "and no `step.skipped`");
    for came in scene.receiver.came() {
        assert!(
            came.is_signed_with(&secret) && !came.is_signed_with("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        );
        assert_eq!(came.headers["content-type"], "application/cloudevents+json");
        let event = came.json();
        assert_eq!(event["id"], came.headers["webhook-id"], "duplicates are recognised by it");
        assert_eq!(event["source"], format!("/v1/workflows/{id}"));
        let number: u64 = came.headers["webhook-id"].split_once('/').unwrap().1.parse().unwrap();
        let lines = scene.stage.browse().workflow_events(id, 0, 10).unwrap();
        assert!(
            lines
                .iter()
                .any(|line| line.number == number && format!("stepfast.{}", line.kind) == event["type"])
        );
    }
    let all = everything(&scene.stage.database()).await;
    let bare = secret.strip_prefix("whsec_").unwrap();
    assert!(!holds(&all, bare), "what signs is stored sealed");
    assert_eq!(scene.deliveries(&made).len(), 2);
    scene.end().await;
}

#[tokio::test]
async fn only_what_was_asked_for_is_delivered() {
    let scene = Scene::set(&["200 OK"]).await;
    let (all, _) = scene.subscribe(scene.asked(&["*"])).await;
    let (skipped, _) = scene.subscribe(scene.asked(&["step.skipped", "stepfast.workflow.failed"])).await;
    let of_other = NewSubscription { workflow: Some("other".into()), ..scene.asked(&["workflow.started"]) };
    let (of_other, _) = scene.subscribe(of_other).await;
    let labels = [("shop".to_string(), "eu".to_string()), ("team".into(), "a".into())].into();
    let (labelled, _) =
        scene.subscribe(NewSubscription { labels, ..scene.asked(&["workflow.started"]) }).await;
    let (silent, _) = scene.subscribe(NewSubscription { active: false, ..scene.asked(&["*"]) }).await;
    scene.stage.start("order", json!({})).await;
    let labels = [("team".to_string(), "a".to_string())].into();
    let start = StartWorkflow { labels, ..StartWorkflow::of("other").with(&json!({"gift": 1})).unwrap() };
    scene.stage.engine.start_workflow(start).await.unwrap();
    scene.rest().await;
    let counts = [&all, &skipped, &of_other, &labelled, &silent].map(|one| scene.deliveries(one).len());
    assert_eq!(counts, [5, 1, 1, 1, 0]);
    let gone = SubscriptionChange {
        asked: Some(NewSubscription { active: false, ..all.asked.clone() }),
        ..SubscriptionChange::default()
    };
    scene.stage.engine.change_subscription(all.id, gone, "me".into()).await.unwrap().unwrap();
    assert!(scene.stage.engine.remove_subscription(labelled.id, None, "me".into()).await.unwrap());
    assert!(!scene.stage.engine.remove_subscription(labelled.id, None, "me".into()).await.unwrap());
    scene.stage.start("order", json!({})).await;
    scene.rest().await;
    let counts = [&all, &skipped, &of_other, &labelled].map(|one| scene.deliveries(one).len());
    assert_eq!(counts, [5, 2, 1, 1], "changes hold from the next event on");
    scene.end().await;
}

#[tokio::test]
async fn a_receiver_that_is_away_gets_it_later_and_in_order_if_it_asked() {
    let scene = Scene::set(&["500 Oh", "503 No", "200 OK"]).await;
    let ordered = NewSubscription { ordered: true, ..scene.asked(&["workflow.*"]) };
    let (made, _) = scene.subscribe(ordered).await;
    scene.stage.start("order", json!({})).await;
    scene.rest().await;
    let kinds = scene.receiver.kinds();
    let started = "stepfast.workflow.started";
    assert_eq!(kinds, [started, started, started, "stepfast.workflow.succeeded"]);
    let ids: Vec<String> =
        scene.receiver.came().iter().map(|came| came.headers["webhook-id"].clone()).collect();
    assert!(ids[0] == ids[1] && ids[1] == ids[2] && ids[2] != ids[3], "{ids:?}");
    let steps = scene.deliveries(&made);
    let told: Vec<(State, u32)> =
        steps.iter().map(|row| (row.step.state, row.step.failed_attempts)).collect();
    assert_eq!(told, [(State::Completed, 2), (State::Completed, 0)]);
    scene.end().await;
}

#[tokio::test]
async fn a_turn_that_is_not_stored_delivers_nothing() {
    let scene = Scene::set(&["200 OK"]).await;
    let (made, _) = scene.subscribe(scene.asked(&["*"])).await;
    let bad = "workflow: bad\nversion: 1.0.0\nsteps:\n  - { key: a, action: poison }\n";
    scene.stage.define(bad).await;
    match scene.stage.database() {
        Database::Sqlite(path) => {
            let trigger = "create trigger poison before insert on steps when new.action = 'poison'
                           begin select raise(abort, 'poison is refused'); end;";
            rusqlite::Connection::open(path).unwrap().execute_batch(trigger).unwrap();
        }
        Database::Postgres(_) => {
            let text = "alter table steps add constraint poison check (action <> 'poison')";
            let made =
                scene.stage.engine.with_store(move |store| store.reader().execute(text, &[]).map(drop));
            made.await.unwrap().unwrap();
        }
    }
    let refused = scene.stage.try_start("bad", json!({})).await.unwrap_err();
    assert!(matches!(refused, EngineError::Unstorable(_) | EngineError::Unavailable(_)), "{refused:?}");
    // The next turn is taken on what the disk says.
    let mut look = tokio::time::interval(Duration::from_millis(20));
    while scene.stage.try_start("order", json!({})).await.is_err() {
        look.tick().await;
    }
    scene.rest().await;
    assert_eq!(scene.deliveries(&made).len(), 3, "those of the order alone");
    assert!(scene.receiver.came().iter().all(|came| !came.body.contains("bad")));
    scene.end().await;
}

#[tokio::test]
async fn a_test_is_delivered_and_while_secrets_change_both_sign() {
    let scene = Scene::set(&["200 OK"]).await;
    let (made, first) = scene.subscribe(scene.asked(&["workflow.failed"])).await;
    let engine = &scene.stage.engine;
    let step = engine.test_subscription(made.id, "me".into()).await.unwrap().unwrap();
    scene.rest().await;
    assert_eq!(scene.stage.step(step.id).step.state, State::Completed);
    let came = scene.receiver.came().remove(0);
    assert_eq!(
        (came.kind().as_str(), came.json()["data"]["name"].as_str()),
        ("stepfast.subscription.test", Some("shop"))
    );
    assert!(came.is_signed_with(&first));
    let renew = SubscriptionChange { secret: SecretChange::Renew, ..SubscriptionChange::default() };
    let (_, second) = engine.change_subscription(made.id, renew, "me".into()).await.unwrap().unwrap();
    let second = second.unwrap().reveal().to_string();
    engine.test_subscription(made.id, "me".into()).await.unwrap().unwrap();
    scene.rest().await;
    let came = scene.receiver.came().remove(1);
    assert!(came.is_signed_with(&first) && came.is_signed_with(&second));
    let drop_old = SubscriptionChange { secret: SecretChange::DropOld, ..SubscriptionChange::default() };
    engine.change_subscription(made.id, drop_old, "me".into()).await.unwrap().unwrap();
    engine.test_subscription(made.id, "me".into()).await.unwrap().unwrap();
    scene.rest().await;
    let came = scene.receiver.came().remove(2);
    assert!(!came.is_signed_with(&first) && came.is_signed_with(&second));
    assert!(engine.test_subscription(model::SubscriptionId::of(9), "me".into()).await.unwrap().is_none());
    let audit = scene.stage.browse().audit(20).unwrap();
    let verbs: Vec<&str> = audit
        .iter()
        .map(|(_, entry)| entry.verb.as_str())
        .filter(|verb| verb.contains("subscription"))
        .collect();
    assert_eq!(verbs, ["change subscription", "change subscription", "add subscription"]);
    scene.end().await;
}

#[tokio::test]
async fn what_cannot_be_signed_is_not_sent() {
    let mut scene = Scene::set(&["200 OK"]).await;
    let (made, _) = scene.subscribe(scene.asked(&["workflow.started"])).await;
    scene.runner.stop(Duration::from_secs(5)).await;
    scene.stage.config.secrets = keys("k2");
    scene.stage.crash().await;
    let mut registry = Registry::default();
    register_builtin(&mut registry);
    let allow = HttpAllow::read(std::slice::from_ref(&scene.receiver.place)).unwrap();
    register_deliver(&mut registry, &allow, &Signing::default()).unwrap();
    let config = RunnerConfig { clock: Arc::new(scene.stage.clock.clone()), ..RunnerConfig::default() };
    scene.runner = Runner::start(scene.stage.engine.clone(), registry, config).await.unwrap();
    scene.stage.start("order", json!({})).await;
    scene.rest().await;
    assert!(scene.receiver.came().is_empty());
    let step = scene.deliveries(&made).remove(0);
    assert_eq!(step.step.state, State::Failed);
    let message = step.detail.error_message.unwrap();
    assert!(message.contains("secrets: one of them was not opened"), "{message}");
    scene.end().await;
}
