//! Notices over nodes: a channel is decided about by one of them, so nothing is told twice.

use engine::{ChannelOrder, StartWorkflow};
use model::{Audience, Channel, ChannelKind, NewStep, Notice, Severity, State, Telling, Timestamp};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use stepfast_testkit::Nodes;
use store::Filter;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn channel(name: &str) -> ChannelOrder {
    let channel = Channel::new(name, ChannelKind::Webhook, "https://example.com/hook");
    ChannelOrder { channel: Channel { per_minute: 600, ..channel }, secrets: Some(vec![SECRET.into()]) }
}

fn notice(key: &str) -> Notice {
    Notice {
        kind: "alert.opened".into(),
        audience: Audience::Admin,
        severity: Severity::High,
        entity_type: "step".into(),
        entity_id: "s1".into(),
        user: None,
        labels: BTreeMap::new(),
        title: "t".into(),
        text: "x".into(),
        key: key.into(),
        at: Timestamp(0),
        data: json!({}),
    }
}

#[tokio::test]
async fn two_nodes_tell_the_same_once() {
    let configs = ["a", "b", "c"].map(|host| {
        let channels = ["ops", "dev", "night"].map(channel).to_vec();
        engine::Config { channels, ..Nodes::config(host) }
    });
    let mut nodes = Nodes::start(configs.to_vec()).await;
    nodes.until("the groups are spread", |nodes| nodes.spread() == [3, 3, 4]).await;
    for key in 0..20 {
        let key = format!("k{key}");
        for name in ["ops", "dev", "night"] {
            let tell = |n: usize| {
                let (engine, notice) = (nodes.engine(n).clone(), notice(&key));
                async move { engine.tell_channel(name, notice).await.expect("it is told") }
            };
            let told = tokio::join!(tell(0), tell(1), tell(2));
            let sent = [told.0, told.1, told.2].into_iter().filter(|one| matches!(one, Telling::Sent { .. }));
            assert_eq!(sent.count(), 1, "{name} {key}");
        }
    }
    let rows = nodes.browse().notices(1_000).expect("a read");
    let filter = Filter { relatable_type: Some("channel".into()), limit: 1_000, ..Filter::default() };
    assert_eq!((rows.len(), nodes.browse().steps(&filter).expect("a read").len()), (60, 60));
    for n in 0..3 {
        nodes.stop(n).await;
    }
}

/// What is more than the channel takes is counted, wherever it failed, and none is lost.
#[tokio::test]
async fn a_flood_on_any_node_is_counted_by_whoever_decides_for_the_channel() {
    let few = |name: &str| {
        let order = channel(name);
        ChannelOrder { channel: Channel { per_minute: 5, ..order.channel }, ..order }
    };
    let configs = ["a", "b"]
        .map(|host| engine::Config { channels: vec![few("ops"), few("dev")], ..Nodes::config(host) });
    let mut nodes = Nodes::start(configs.to_vec()).await;
    nodes.until("the groups are spread", |nodes| nodes.spread() == [5, 5]).await;
    nodes.work(0).await;
    nodes.work(1).await;
    nodes.engine(0).create(vec![NewStep::of("fail"); 300]).await.expect("sound steps");
    for name in ["ops", "dev"] {
        let all = |nodes: &Nodes| {
            let told = nodes.browse().notices(1_000).expect("a read");
            let told =
                told.iter().filter(|row| row.channel == name && row.kind == "step.failed").count() as u64;
            let channels = nodes.browse().channels().expect("a read");
            let sends = channels
                .iter()
                .find(|(stored, _)| stored.channel.name == name)
                .map(|(_, sends)| sends.clone());
            assert!(told <= 5, "{told} were told");
            told + sends.map_or(0, |sends| sends.gathered) == 300
        };
        nodes.until("all are told or counted", all).await;
    }
    for n in 0..2 {
        nodes.stop(n).await;
    }
}

#[tokio::test]
async fn what_fails_on_any_node_is_told_by_whoever_decides_for_the_channel() {
    let configs =
        ["a", "b"].map(|host| engine::Config { channels: vec![channel("ops")], ..Nodes::config(host) });
    let mut nodes = Nodes::start(configs.to_vec()).await;
    nodes.until("the groups are spread", |nodes| nodes.spread() == [5, 5]).await;
    nodes.work(0).await;
    nodes.work(1).await;
    let made = nodes.engine(0).create(vec![NewStep::of("fail"); 40]).await.expect("sound steps");
    let browse = nodes.browse();
    let all_told = |nodes: &Nodes| nodes.browse().notices(1_000).expect("a read").len() == made.len();
    nodes.until("all are told", all_told).await;
    for step in &made {
        let row = browse.step(step.id).expect("a read").expect("it is there");
        assert_eq!((row.step.state, row.detail.was_notified), (State::Failed, Some(true)));
    }
    let homes: Vec<String> = {
        let filter = Filter { relatable_type: Some("channel".into()), limit: 1_000, ..Filter::default() };
        let mut homes: Vec<String> = browse
            .steps(&filter)
            .expect("a read")
            .iter()
            .map(|row| row.step.dispatch_group.to_string())
            .collect();
        homes.dedup();
        homes
    };
    assert_eq!(homes.len(), 1, "one group decides for one channel");
    for n in 0..2 {
        nodes.stop(n).await;
    }
}

/// A node that has more for users than a channel takes tells each to whoever decides for it, who sends them one by one.
#[tokio::test]
async fn users_are_told_by_name_whichever_node_it_failed_on() {
    let people = |name: &str| {
        let order = channel(name);
        ChannelOrder {
            channel: Channel { per_minute: 5, audience: Audience::User, ..order.channel },
            ..order
        }
    };
    let configs = ["a", "b"]
        .map(|host| engine::Config { channels: vec![people("mail"), people("app")], ..Nodes::config(host) });
    let mut nodes = Nodes::start(configs.to_vec()).await;
    nodes.until("the groups are spread", |nodes| nodes.spread() == [5, 5]).await;
    nodes.work(0).await;
    nodes.work(1).await;
    let yaml = "workflow: order\nversion: 1.0.0\nsteps:\n  - { key: a, action: fail }\n";
    nodes
        .engine(0)
        .apply_definition(stepfast_testkit::stored(yaml), "test".into())
        .await
        .expect("it is stored");
    for n in 0..40 {
        let labels = [("user".to_string(), format!("user {n}"))].into();
        let start = StartWorkflow { labels, ..StartWorkflow::of("order") };
        nodes.engine(n % 2).start_workflow(start).await.expect("it starts");
    }
    for name in ["mail", "app"] {
        let told = |nodes: &Nodes| {
            let filter = Filter {
                relatable_type: Some("channel".into()),
                relatable_id: Some(name.into()),
                limit: 1_000,
                ..Filter::default()
            };
            let steps = nodes.browse().steps(&filter).expect("a read");
            let user = |arguments: &str| {
                let read: serde_json::Value = serde_json::from_str(arguments).expect("JSON");
                read["body"]["data"]["user"].as_str().expect("each names its user").to_string()
            };
            let users: BTreeSet<String> = steps.iter().map(|row| user(&row.step.arguments)).collect();
            (steps.len(), users.len()) == (40, 40)
        };
        nodes.until("every user is told, once", told).await;
    }
    for n in 0..2 {
        nodes.stop(n).await;
    }
}
