//! The publisher and a queue with every fault a queue may have: what is lost, doubled, late, refused or unanswered does no harm.
#![allow(clippy::unwrap_used)]

use engine::{Config, Publisher, PublisherConfig, Sent};
use model::{NotBegun, StepId};
use rules::operator::Verb;
use rules::settle::Mode;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepfast_testkit::{Stage, outcome_of};
use transport::memory::{Fate, MemoryQueue, MemoryTransport};
use transport::token::{TokenKey, verify};
use transport::{Received, Transport};

const MINUTE: Duration = Duration::from_secs(60);

/// A stage, a queue whose faults the test picks by the key of a step, and who publishes between them.
struct Post {
    stage: Stage,
    queue: MemoryQueue,
    router: MemoryTransport,
    publisher: Option<Publisher>,
    /// Every message that was sent, by step.
    sent: Arc<Mutex<Vec<(String, u32)>>>,
    fates: Arc<Mutex<HashMap<String, Vec<Fate>>>>,
    key: TokenKey,
}

impl Post {
    async fn new(dedup_window: Option<Duration>) -> Post {
        let (published, host) = (vec!["deliver".into()], "stage".into());
        let config = Config { by_hand: true, full_history: true, host, published, ..Config::default() };
        let stage = Stage::with(config).await;
        let queue = MemoryQueue::new(MINUTE, dedup_window);
        let (sent, fates) =
            (Arc::<Mutex<Vec<_>>>::default(), Arc::<Mutex<HashMap<String, Vec<Fate>>>>::default());
        let (kept, asked) = (sent.clone(), fates.clone());
        queue.on_publish(move |message| {
            kept.lock().unwrap().push((message.pointer.id.clone(), message.attempt));
            let mut fates = asked.lock().unwrap();
            let left = fates.get_mut(&message.pointer.id).filter(|left| !left.is_empty());
            left.map_or(Fate::Delivered, |left| left.remove(0))
        });
        let key = TokenKey::new(&[5; 32]).unwrap();
        let router = queue.connect();
        let mut post = Post { stage, queue, router, publisher: None, sent, fates, key };
        post.attend().await;
        post
    }

    async fn attend(&mut self) {
        let config = PublisherConfig {
            queue: "memory".into(),
            endpoint: "http://127.0.0.1:1/api/dispatch/process".into(),
            default_pool: "DISPATCH-POOL".into(),
            key: self.key.clone(),
            clock: Arc::new(self.stage.clock.clone()),
            token_life: 60 * MINUTE,
            concurrency: 2,
            batch: 10,
            capacity: 100,
            stale_after: 15 * MINUTE,
            look_every: MINUTE,
        };
        let transport = Arc::new(self.queue.connect());
        self.publisher = Some(Publisher::start(self.stage.engine.clone(), transport, config).await.unwrap());
    }

    async fn create(&self, n: usize, fates: &[Fate]) -> Vec<StepId> {
        let steps: Vec<Value> = (0..n).map(|_| json!({"action": "deliver"})).collect();
        let ids = self.stage.create(json!(steps)).await;
        for id in &ids {
            self.fates.lock().unwrap().insert(id.to_string(), fates.to_vec());
        }
        ids
    }

    async fn tick(&mut self) {
        self.stage.decide(Mode::FixedPoint).await;
    }

    /// The next message; time stands still unless everybody waits.
    async fn next(&self) -> Option<Received> {
        let mut received = self.router.receive(1, Duration::from_secs(20)).await.unwrap();
        received.pop()
    }

    /// Be sent for a message, as the endpoint is.
    async fn process(&mut self, message: Received) -> Result<(), NotBegun> {
        let pointer = message.pointer.unwrap();
        let now = self.stage.clock_now().whole_seconds();
        let attempt = verify(&self.key, &pointer.id, &pointer.auth_token, now).unwrap().attempt;
        assert_eq!(message.attempt_header, Some(attempt));
        let (session, step) = (self.stage.session.id, pointer.id.parse().unwrap());
        let begun = self.stage.engine.begin(Sent { session, step, attempt }).await.unwrap();
        if begun.is_ok() {
            self.stage.handed();
            self.stage.report(session, step, attempt, outcome_of("ok").unwrap()).await;
        }
        self.router.ack(&message.receipt).await.unwrap();
        begun
    }

    /// How often it was sent, attempt by attempt.
    fn sent(&self, id: StepId) -> Vec<u32> {
        let sent = self.sent.lock().unwrap();
        sent.iter().filter(|(step, _)| *step == id.to_string()).map(|(_, attempt)| *attempt).collect()
    }

    async fn wait(&self, span: Duration) {
        self.stage.advance(span).await;
    }
}

#[tokio::test(start_paused = true)]
async fn every_message_is_published_once_and_says_what_the_specification_has() {
    let mut post = Post::new(None).await;
    let ids = post.create(35, &[]).await;
    post.tick().await;
    let mut seen = Vec::new();
    while seen.len() < ids.len() {
        let message = post.next().await.unwrap();
        let pointer = message.pointer.clone().unwrap();
        assert_eq!(pointer.pool_code, "DISPATCH-POOL");
        assert_eq!(pointer.mediation_target, "http://127.0.0.1:1/api/dispatch/process");
        seen.push(pointer.id);
        assert_eq!(post.process(message).await, Ok(()));
    }
    assert!(post.next().await.is_none());
    assert!(ids.iter().all(|id| post.sent(*id) == [1]));
    assert_eq!(post.stage.states(), "C".repeat(35));
}

#[tokio::test(start_paused = true)]
async fn doubled_and_redelivered_messages_begin_a_step_once() {
    let mut post = Post::new(None).await;
    post.create(1, &[Fate::Doubled]).await;
    post.tick().await;
    let (first, second) = (post.next().await.unwrap(), post.next().await.unwrap());
    assert_eq!(post.process(first).await, Ok(()));
    assert_eq!(post.process(second).await, Err(NotBegun::Ended));
}

#[tokio::test(start_paused = true)]
async fn a_lost_message_is_published_anew_and_a_late_one_is_refused() {
    let mut post = Post::new(None).await;
    let lost = post.create(1, &[Fate::Lost]).await[0];
    let late = post.create(1, &[Fate::Delayed(20 * MINUTE)]).await[0];
    post.tick().await;
    assert!(post.next().await.is_none());
    post.wait(16 * MINUTE).await;
    post.tick().await;
    for _ in 0..2 {
        let message = post.next().await.unwrap();
        assert_eq!(message.attempt_header, Some(2));
        assert_eq!(post.process(message).await, Ok(()));
    }
    assert_eq!((post.sent(lost), post.sent(late)), (vec![1, 2], vec![1, 2]));
    tokio::time::advance(20 * MINUTE).await;
    let message = post.next().await.unwrap();
    assert_eq!(message.attempt_header, Some(1));
    assert_eq!(post.process(message).await, Err(NotBegun::Old));
    assert_eq!(post.stage.states(), "CC");
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_does_not_answer_is_asked_again_for_the_same_attempt() {
    for dedup_window in [None, Some(5 * MINUTE)] {
        let mut post = Post::new(dedup_window).await;
        let id = post.create(1, &[Fate::Unanswered, Fate::Failed]).await[0];
        post.tick().await;
        let message = post.next().await.unwrap();
        assert_eq!(post.process(message).await, Ok(()));
        let again = post.next().await;
        assert_eq!(again.is_some(), dedup_window.is_none(), "a broker that knows it drops it");
        if let Some(again) = again {
            assert_eq!(post.process(again).await, Err(NotBegun::Ended));
        }
        assert_eq!(post.sent(id), [1, 1, 1]);
    }
}

#[tokio::test(start_paused = true)]
async fn while_the_broker_is_away_nothing_is_lost_and_it_is_told() {
    let mut post = Post::new(None).await;
    post.queue.stop();
    let ids = post.create(30, &[]).await;
    post.tick().await;
    let trouble = post.publisher.as_ref().unwrap().trouble.clone();
    while trouble.told().is_none() {
        tokio::task::yield_now().await;
    }
    assert!(trouble.told().unwrap().contains("the queue (memory) cannot be reached"), "{:?}", trouble.told());
    tokio::time::advance(10 * MINUTE).await;
    post.queue.start();
    for _ in 0..ids.len() {
        let message = post.next().await.unwrap();
        assert_eq!(post.process(message).await, Ok(()));
    }
    assert_eq!(trouble.told(), None);
    assert_eq!(post.stage.states(), "C".repeat(30));
}

#[tokio::test(start_paused = true)]
async fn who_publishes_next_goes_on_where_the_last_one_died() {
    let mut post = Post::new(None).await;
    post.queue.stop();
    let ids = post.create(5, &[]).await;
    post.tick().await;
    post.stage.crash().await;
    post.queue.start();
    post.attend().await;
    for _ in 0..ids.len() {
        let message = post.next().await.unwrap();
        assert_eq!(post.process(message).await, Ok(()));
    }
    assert!(ids.iter().all(|id| post.sent(*id) == [1]), "no attempt was used up");
}

/// Issue 5: whoever publishes kept what was cancelled while the broker was away, and published it in the end.
#[tokio::test(start_paused = true)]
async fn what_is_cancelled_while_the_broker_is_away_is_never_published() {
    let mut post = Post::new(None).await;
    post.queue.stop();
    let ids = post.create(30, &[]).await;
    post.tick().await;
    let trouble = post.publisher.as_ref().unwrap().trouble.clone();
    while trouble.told().is_none() {
        tokio::task::yield_now().await;
    }
    for id in &ids {
        post.stage.operate(*id, Some(Verb::Cancel)).await.unwrap();
    }
    let second = Duration::from_secs(1);
    for _ in 0..60 {
        tokio::time::advance(second).await;
        assert!(trouble.told().is_some(), "with nothing to publish it is still asked how it is");
    }
    post.queue.start();
    for _ in 0..60 {
        tokio::time::advance(second).await;
    }
    assert_eq!(trouble.told(), None);
    assert!(post.next().await.is_none());
    assert!(ids.iter().all(|id| post.sent(*id).is_empty()));
    let last = post.create(1, &[]).await[0];
    post.tick().await;
    let message = post.next().await.unwrap();
    assert_eq!(post.process(message).await, Ok(()));
    assert_eq!(post.sent(last), [1]);
}
