//! Notices: channels are told of what fails and waits, once, no more than they take, and without their secrets standing anywhere.
#![allow(clippy::unwrap_used)]

#[path = "notices/arrive.rs"]
mod arrive;
#[path = "notices/limits.rs"]
mod limits;
#[path = "notices/sources.rs"]
mod sources;
#[path = "notices/users.rs"]
mod users;

use engine::{ChannelOrder, Config, StuckConfig};
use model::{Audience, Channel, ChannelKind, Notice, Severity, Timestamp};
use serde_json::{Value, json};
use stepfast_testkit::{Stage, keys};
use store::{Filter, StepRow};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn webhook(name: &str, url: &str) -> ChannelOrder {
    let channel = Channel::new(name, ChannelKind::Webhook, url);
    ChannelOrder { channel, secrets: Some(vec![SECRET.into()]) }
}

fn chat(name: &str, url: &str) -> ChannelOrder {
    ChannelOrder { channel: Channel::new(name, ChannelKind::Chat, url), secrets: None }
}

fn changed(mut order: ChannelOrder, change: impl FnOnce(&mut Channel)) -> ChannelOrder {
    change(&mut order.channel);
    order
}

/// A channel that nobody delivers to: what it is told stays as steps.
fn ops() -> ChannelOrder {
    webhook("ops", "https://example.com/hook")
}

async fn stage(channels: Vec<ChannelOrder>) -> Stage {
    let (host, secrets) = ("stage".into(), keys("k1"));
    // What stands still is told by other tests.
    let stuck = StuckConfig { every: None, ..StuckConfig::default() };
    Stage::with(Config {
        by_hand: true,
        full_history: true,
        host,
        secrets,
        channels,
        stuck,
        ..Config::default()
    })
    .await
}

fn deliveries(stage: &Stage, channel: &str) -> Vec<StepRow> {
    let filter = Filter {
        relatable_type: Some("channel".into()),
        relatable_id: Some(channel.into()),
        ascending: true,
        limit: 1_000,
        ..Filter::default()
    };
    stage.browse().steps(&filter).unwrap()
}

/// What a channel is sent, oldest first; not that nobody delivers it here, which the watchdog finds.
fn letters(stage: &Stage, channel: &str) -> Vec<Value> {
    let body = |row: &StepRow| serde_json::from_str::<Value>(&row.step.arguments).unwrap()["body"].clone();
    let meant = |letter: &Value| !letter.to_string().contains("group_no_progress");
    deliveries(stage, channel).iter().map(body).filter(meant).collect()
}

/// The kinds of what a webhook is sent.
fn kinds(stage: &Stage, channel: &str) -> Vec<String> {
    let kind = |letter: &Value| letter["type"].as_str().unwrap().replace("stepfast.", "");
    letters(stage, channel).iter().map(kind).collect()
}

fn notice(key: &str, severity: Severity) -> Notice {
    Notice {
        kind: "alert.opened".into(),
        audience: Audience::Admin,
        severity,
        entity_type: "step".into(),
        entity_id: "s1".into(),
        user: None,
        labels: Default::default(),
        title: format!("about {key}"),
        text: "something stands still".into(),
        key: key.into(),
        at: Timestamp(0),
        data: json!({}),
    }
}
