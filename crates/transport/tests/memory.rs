//! The queue in memory passes the suite of all transports, and has the faults that it is asked for.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use async_trait::async_trait;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepfast_transport::conformance::{self, Rig};
use stepfast_transport::memory::{Fate, MemoryQueue};
use stepfast_transport::{MediationType, Message, MessagePointer, Published, Transport, TransportError};

struct Memory {
    dedup_window: Option<Duration>,
    queues: Mutex<HashMap<String, MemoryQueue>>,
}

impl Memory {
    fn queue(&self, name: &str) -> MemoryQueue {
        self.queues.lock().unwrap()[name].clone()
    }
}

#[async_trait]
impl Rig for Memory {
    async fn make_queue(&self, name: &str) {
        let queue = MemoryQueue::new(Duration::from_secs(2), self.dedup_window);
        self.queues.lock().unwrap().insert(name.into(), queue);
    }
    async fn connect(&self, queue: &str) -> Arc<dyn Transport> {
        Arc::new(self.queue(queue).connect())
    }
    async fn put(&self, queue: &str, body: &str) {
        self.queue(queue).put(body.as_bytes());
    }
    async fn stop(&self) {
        self.queues.lock().unwrap().values().for_each(MemoryQueue::stop);
    }
    async fn start(&self) {
        self.queues.lock().unwrap().values().for_each(MemoryQueue::start);
    }
}

#[tokio::test(start_paused = true)]
async fn conformance_with_a_dedup_window() {
    let dedup_window = Some(Duration::from_secs(300));
    conformance::run(Arc::new(Memory { dedup_window, queues: Mutex::default() })).await;
}

#[tokio::test(start_paused = true)]
async fn conformance_without_a_dedup_window() {
    conformance::run(Arc::new(Memory { dedup_window: None, queues: Mutex::default() })).await;
}

fn message(id: &str) -> Message {
    let pointer = MessagePointer {
        id: id.into(),
        pool_code: "pool".into(),
        auth_token: "token".into(),
        mediation_type: MediationType::Http,
        mediation_target: "http://127.0.0.1".into(),
        message_group_id: None,
    };
    Message { pointer, attempt: 1 }
}

#[tokio::test(start_paused = true)]
async fn every_fault_does_what_it_says() {
    let queue = MemoryQueue::new(Duration::from_secs(60), None);
    queue.on_publish(|message| match message.pointer.id.as_str() {
        "lost" => Fate::Lost,
        "doubled" => Fate::Doubled,
        "delayed" => Fate::Delayed(Duration::from_secs(5)),
        "failed" => Fate::Failed,
        "unanswered" => Fate::Unanswered,
        _ => Fate::Delivered,
    });
    let transport = queue.connect();
    let names = ["lost", "doubled", "delayed", "failed", "unanswered", "plain"];
    let answers = transport.publish(names.map(message).to_vec()).await;
    let told: Vec<bool> = answers.iter().map(|answer| *answer == Ok(Published::New)).collect();
    assert_eq!(told, [true, true, true, false, false, true]);
    let received = transport.receive(10, Duration::ZERO).await.unwrap();
    let ids: Vec<String> = received.into_iter().map(|one| one.pointer.unwrap().id).collect();
    assert_eq!(ids, ["doubled", "doubled", "unanswered", "plain"]);
    let asked_at = tokio::time::Instant::now();
    let late = transport.receive(10, Duration::from_secs(60)).await.unwrap();
    assert_eq!((late.len(), asked_at.elapsed()), (1, Duration::from_secs(5)));
    assert_eq!(queue.depth(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_outside_the_window_is_new() {
    let queue = MemoryQueue::new(Duration::from_secs(60), Some(Duration::from_secs(300)));
    let transport = queue.connect();
    let publish = async || transport.publish(vec![message("a")]).await.remove(0);
    assert_eq!(publish().await, Ok(Published::New));
    assert_eq!(publish().await, Ok(Published::Duplicate));
    tokio::time::advance(Duration::from_secs(301)).await;
    assert_eq!(publish().await, Ok(Published::New));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_queue_ends_a_wait() {
    let queue = MemoryQueue::new(Duration::from_secs(60), None);
    let transport = queue.connect();
    let (received, ()) = tokio::join!(transport.receive(1, Duration::from_secs(60)), async { queue.stop() });
    assert!(matches!(received, Err(TransportError::Unavailable(_))), "{received:?}");
}
