//! What arrives: real deliveries at a real socket, signed; and what stands nowhere.

use super::*;
use model::State;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use stepfast_testkit::{Receiver, everything, holds};
use worker::{HttpAllow, Registry, Runner, RunnerConfig, Signing, register_builtin, register_deliver};

/// A step that fails in the hands of the runner; the stage's own session knows no such action.
static BROKEN: LazyLock<Value> = LazyLock::new(|| json!({"action": "sleep", "arguments": {"ms": "long"}}));

struct Scene {
    stage: Stage,
    runner: Runner,
}

impl Scene {
    async fn set(channels: Vec<ChannelOrder>, places: &[String]) -> Scene {
        let config = Config { host: "stage".into(), secrets: keys("k1"), channels, ..Config::default() };
        let stage = Stage::with(config).await;
        let mut registry = Registry::default();
        register_builtin(&mut registry);
        let allow = HttpAllow::read(places).unwrap();
        register_deliver(&mut registry, &allow, &Signing::default()).unwrap();
        let config = RunnerConfig { clock: Arc::new(stage.clock.clone()), ..RunnerConfig::default() };
        let runner = Runner::start(stage.engine.clone(), registry, config).await.unwrap();
        Scene { stage, runner }
    }

    /// Until this holds; time goes on meanwhile.
    async fn until(&self, what: &str, holds: impl Fn(&Stage) -> bool) {
        let mut look = tokio::time::interval(Duration::from_millis(20));
        for _ in 0..500 {
            look.tick().await;
            if holds(&self.stage) {
                return;
            }
            self.stage.advance(Duration::from_millis(500)).await;
        }
        panic!("{what}: {}", self.stage.states());
    }

    async fn end(self) {
        self.runner.stop(Duration::from_secs(5)).await;
    }
}

fn is_over(stage: &Stage, channel: &str) -> bool {
    let all = deliveries(stage, channel);
    !all.is_empty() && all.iter().all(|row| row.step.state.is_terminal())
}

#[tokio::test]
async fn a_notice_arrives_signed_and_what_signs_it_stands_nowhere() {
    let receiver = Receiver::answering(&["200 OK"]).await;
    let scene =
        Scene::set(vec![webhook("ops", &receiver.url())], std::slice::from_ref(&receiver.place)).await;
    let id = scene.stage.create(json!([BROKEN.clone()])).await[0];
    scene.until("it arrives", |stage| is_over(stage, "ops")).await;
    let came = receiver.came().remove(0);
    assert!(came.is_signed_with(SECRET) && !came.is_signed_with("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
    assert_eq!(came.headers["content-type"], "application/cloudevents+json");
    let event = came.json();
    assert_eq!(
        (came.kind().as_str(), &event["id"]),
        ("stepfast.step.failed", &json!(came.headers["webhook-id"]))
    );
    assert_eq!(event["data"]["entity"], json!({"type": "step", "id": id.to_string()}));
    let all = everything(&scene.stage.database()).await;
    assert!(holds(&all, "step.failed") && !holds(&all, SECRET.strip_prefix("whsec_").unwrap()));
    scene.end().await;
}

#[tokio::test]
async fn a_chat_is_told_in_its_own_words_and_its_address_stands_nowhere() {
    let receiver = Receiver::answering(&["500 Oh", "200 OK"]).await;
    let url = format!("http://{}/services/T1/CANARY-hunter2", receiver.place);
    let scene = Scene::set(vec![chat("room", &url)], std::slice::from_ref(&receiver.place)).await;
    scene.stage.create(json!([BROKEN.clone()])).await;
    scene.until("it arrives", |stage| is_over(stage, "room")).await;
    let came = receiver.came();
    assert_eq!((came.len(), &came[0].body), (2, &came[1].body), "the same once more");
    let told = came[1].json();
    assert_eq!(came[1].headers["content-type"], "application/json");
    assert!(told["text"].as_str().unwrap().starts_with("[medium] a step `sleep` failed\n"), "{told}");
    let kinds: Vec<&str> =
        told["blocks"].as_array().unwrap().iter().map(|b| b["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["header", "section", "context"]);
    assert!(
        told["blocks"][1]["text"]["text"].as_str().unwrap().contains("does not understand its arguments"),
        "{told}"
    );
    let all = everything(&scene.stage.database()).await;
    assert!(
        holds(&all, "step.failed") && !holds(&all, "CANARY-hunter2"),
        "neither in its row nor in what went wrong"
    );
    scene.end().await;
}

#[tokio::test]
async fn a_receiver_that_is_down_holds_nobody_up() {
    let receiver = Receiver::answering(&["200 OK"]).await;
    // Nobody listens there any more.
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let down = webhook("down", &format!("http://{gone}/x"));
    let places = [receiver.place.clone(), gone];
    let scene = Scene::set(vec![down, webhook("up", &receiver.url())], &places).await;
    let steps: Vec<Value> =
        (0..20).map(|n| if n % 4 == 0 { BROKEN.clone() } else { json!({"action": "noop"}) }).collect();
    let ids = scene.stage.create(json!(steps)).await;
    scene
        .until("the others are told, and work goes on", |stage| {
            is_over(stage, "up") && ids.iter().all(|id| stage.step(*id).step.state.is_terminal())
        })
        .await;
    assert_eq!(receiver.came().len(), 5);
    let waiting = deliveries(&scene.stage, "down");
    assert_eq!(waiting.len(), 5);
    assert!(waiting.iter().all(|row| row.step.state != State::Completed), "they are tried again for hours");
    scene.end().await;
}

/// A node with another key cannot open what signs: nothing is sent unsigned.
#[tokio::test]
async fn what_cannot_be_signed_is_not_sent() {
    let mut stage = stage(vec![ops(), chat("room", "https://chat.example.com/T1/x")]).await;
    stage.config.secrets = keys("k2");
    stage.config.channels = Vec::new();
    stage.crash().await;
    stage.create(json!([{"action": "fail"}])).await;
    stage.settle().await;
    for channel in ["ops", "room"] {
        let row = deliveries(&stage, channel).remove(0);
        let arguments: Value = serde_json::from_str(&row.step.arguments).unwrap();
        assert_eq!(arguments["body"], Value::Null, "{channel}: {arguments}");
    }
}
