//! A queue outside that several nodes publish to, and from which somebody is sent to any of them.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use engine::{Config, Publisher, PublisherConfig};
use model::{Outcome, State};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepfast_testkit::Nodes;
use store::SystemClock;
use transport::Transport;
use transport::memory::{Fate, MemoryQueue};
use transport::token::{TokenKey, verify};
use worker::{Processor, Registry};

const MINUTE: Duration = Duration::from_secs(60);

fn config(host: &str) -> Config {
    Config { published: vec!["deliver".into()], ..Nodes::config(host) }
}

fn key() -> TokenKey {
    TokenKey::new(&[5; 32]).unwrap()
}

async fn publisher(nodes: &Nodes, n: usize, queue: &MemoryQueue) -> Publisher {
    let config = PublisherConfig {
        queue: "memory".into(),
        endpoint: "http://127.0.0.1:1".into(),
        default_pool: "DISPATCH-POOL".into(),
        key: key(),
        clock: Arc::new(SystemClock::default()),
        token_life: 60 * MINUTE,
        concurrency: 2,
        batch: 10,
        capacity: 1_000,
        stale_after: 15 * MINUTE,
        look_every: MINUTE,
    };
    Publisher::start(nodes.engine(n).clone(), Arc::new(queue.connect()), config).await.unwrap()
}

/// What ran, in order, by message group.
type Ran = Arc<Mutex<HashMap<String, Vec<u64>>>>;

async fn processor(nodes: &Nodes, n: usize, ran: &Ran) -> Processor {
    let (mut registry, ran) = (Registry::new(), ran.clone());
    registry.raw("deliver", move |claim| {
        let body: Value = serde_json::from_str(&claim.arguments).unwrap();
        let group = claim.message_group.unwrap_or_default().to_string();
        ran.lock().unwrap().entry(group).or_default().push(body["n"].as_u64().unwrap());
        async { Outcome::Complete { response: None } }
    });
    let clock = Arc::new(SystemClock::default());
    Processor::start(nodes.engine(n).clone(), registry, "endpoint".into(), clock).await.unwrap()
}

/// Go where the queue sends, to one node after another, until this many messages are done with.
async fn route(queue: &MemoryQueue, processors: &[Processor], n: usize) {
    let transport = queue.connect();
    let mut done = 0;
    while done < n {
        let received = transport.receive(10, Duration::from_secs(20)).await.unwrap();
        assert!(!received.is_empty(), "only {done} of {n} messages came");
        for message in received {
            let pointer = message.pointer.unwrap();
            let now = store::Clock::now(&SystemClock::default()).whole_seconds();
            let attempt = verify(&key(), &pointer.id, &pointer.auth_token, now).unwrap().attempt;
            let processor = &processors[done % processors.len()];
            let begun = processor.process(pointer.id.parse().unwrap(), attempt).await.unwrap();
            assert_eq!(begun, Ok(()), "nothing was published twice");
            transport.ack(&message.receipt).await.unwrap();
            done += 1;
        }
    }
}

fn letters(from: u64, n: u64, groups: u64) -> Value {
    let letter = |i: u64| {
        json!({"action": "deliver", "message_group": format!("g{}", i % groups), "mode": "block_on_error",
               "arguments": {"n": i}})
    };
    (from..from + n).map(letter).collect()
}

/// Steps that a node had in hand and not stored yet were forgotten when older ones of their line arrived from another node; and of
/// two steps that a caller made one after the other at two nodes, the second went first.
#[tokio::test]
async fn whoever_is_sent_may_ask_any_node_and_lines_keep_their_order() {
    let nodes = Nodes::start(vec![config("one"), config("two")]).await;
    nodes.until("each has its share", |n| n.spread() == [5, 5]).await;
    let (queue, ran) = (MemoryQueue::new(MINUTE, None), Ran::default());
    let publishers = [publisher(&nodes, 0, &queue).await, publisher(&nodes, 1, &queue).await];
    let processors = [processor(&nodes, 0, &ran).await, processor(&nodes, 1, &ran).await];
    nodes.create(0, letters(0, 60, 12)).await;
    nodes.create(1, letters(60, 60, 12)).await;
    route(&queue, &processors, 120).await;
    nodes.until("all ended", |n| n.steps().iter().all(|(_, state)| *state == State::Completed)).await;
    for (group, ran) in ran.lock().unwrap().iter() {
        assert!(ran.is_sorted() && ran.len() == 10, "{group} ran {ran:?}");
    }
    for publisher in publishers {
        publisher.stop().await;
    }
    for processor in &processors {
        processor.stop(Duration::from_secs(5)).await;
    }
}

#[tokio::test]
async fn one_that_stands_by_publishes_when_the_other_is_gone() {
    let standby = Config { standby: true, ..config("two") };
    let mut nodes = Nodes::start(vec![config("one"), standby]).await;
    nodes.until("one has all", |n| n.spread() == [0, 10]).await;
    let (queue, ran) = (MemoryQueue::new(MINUTE, None), Ran::default());
    let (active, passive) = (queue.connect(), MemoryQueue::new(MINUTE, None));
    let sent: Arc<Mutex<Vec<(String, u32)>>> = Arc::default();
    let kept = sent.clone();
    queue.on_publish(move |message| {
        kept.lock().unwrap().push((message.pointer.id.clone(), message.attempt));
        Fate::Delivered
    });
    let _first = publisher(&nodes, 0, &queue).await;
    let _second = publisher(&nodes, 1, &passive).await;
    let processors = [processor(&nodes, 1, &ran).await];
    nodes.create(1, letters(0, 20, 20)).await;
    route(&queue, &processors, 20).await;
    assert_eq!(passive.depth(), 0, "who stands by publishes nothing");
    active.probe().await.unwrap();
    nodes.stop(0).await;
    nodes.create(1, letters(20, 20, 20)).await;
    route(&passive, &processors, 20).await;
    nodes.until("all ended", |n| n.steps().iter().all(|(_, state)| *state == State::Completed)).await;
    let mut once = sent.lock().unwrap().clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), 20, "nothing was published twice");
    processors[0].stop(Duration::from_secs(5)).await;
}

/// Issue 5: a node published from the queues of its own configuration alone, so that what named the own queue of another host, and
/// stood in a dispatch group of this one, was never published.
#[tokio::test]
async fn what_names_the_own_queue_of_another_node_is_published_by_whoever_has_its_group() {
    let nodes = Nodes::start(vec![config("one"), config("two")]).await;
    nodes.until("each has its share", |n| n.spread() == [5, 5]).await;
    let (queue, ran) = (MemoryQueue::new(MINUTE, None), Ran::default());
    let publishers = [publisher(&nodes, 0, &queue).await, publisher(&nodes, 1, &queue).await];
    let processors = [processor(&nodes, 0, &ran).await, processor(&nodes, 1, &ran).await];
    let letter = |i: u64, host: &str| json!({"action": "deliver", "queue": host, "arguments": {"n": i}});
    nodes.create(0, (0..20).map(|i| letter(i, "one")).collect()).await;
    nodes.create(1, (20..40).map(|i| letter(i, "two")).collect()).await;
    route(&queue, &processors, 40).await;
    nodes.until("all ended", |n| n.steps().iter().all(|(_, state)| *state == State::Completed)).await;
    for publisher in publishers {
        publisher.stop().await;
    }
    for processor in &processors {
        processor.stop(Duration::from_secs(5)).await;
    }
}
