//! A queue that is watched, targets that follow a script, and messages for them.

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use router::{Mediator, Outcome, PoolConfig, Reply, Router, RouterConfig, Running, Targets};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use transport::memory::MemoryQueue;
use transport::{
    Capabilities, MediationType, Message, MessagePointer, Published, Receipt, Received, Transport,
    TransportError,
};

pub const SECOND: Duration = Duration::from_secs(1);
pub const VISIBILITY: Duration = Duration::from_secs(30);
/// In paused time this costs nothing; in real time nothing takes as long.
const PATIENCE: Duration = Duration::from_secs(2_000);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Received(String),
    Acked(String),
    Deferred(String, u64),
    Extended(String),
    Polled,
    Closed,
}

/// A transport that writes down what is asked of it.
pub struct Spy {
    inner: Arc<dyn Transport>,
    ids: Mutex<HashMap<Receipt, String>>,
    pub events: watch::Sender<Vec<Event>>,
    pub stalls: Mutex<bool>,
    pub fails_to_ack: Mutex<bool>,
}

impl Spy {
    pub fn new(inner: Arc<dyn Transport>) -> Arc<Spy> {
        Arc::new(Spy {
            inner,
            ids: Mutex::default(),
            events: watch::Sender::new(Vec::new()),
            stalls: Mutex::default(),
            fails_to_ack: Mutex::default(),
        })
    }

    pub fn on(queue: &MemoryQueue) -> Arc<Spy> {
        Spy::new(Arc::new(queue.connect()))
    }

    pub async fn until(&self, what: &str, holds: impl FnMut(&Vec<Event>) -> bool) {
        until(&self.events, what, holds).await;
    }

    pub fn acked(&self) -> Vec<String> {
        let acked = |event: &Event| if let Event::Acked(id) = event { Some(id.clone()) } else { None };
        self.events.borrow().iter().filter_map(acked).collect()
    }

    pub fn deferred(&self, id: &str) -> Vec<u64> {
        let deferred = |event: &Event| match event {
            Event::Deferred(known, seconds) if known == id => Some(*seconds),
            _ => None,
        };
        self.events.borrow().iter().filter_map(deferred).collect()
    }

    pub async fn until_acked(&self, n: usize) {
        let acked = |events: &Vec<Event>| events.iter().filter(|e| matches!(e, Event::Acked(_))).count() >= n;
        self.until(&format!("{n} messages are acknowledged"), acked).await;
    }

    fn id(&self, receipt: &Receipt) -> String {
        self.ids.lock().unwrap()[receipt].clone()
    }

    fn note(&self, event: Event) {
        self.events.send_modify(|events| events.push(event));
    }
}

pub async fn until<T>(watched: &watch::Sender<T>, what: &str, holds: impl FnMut(&T) -> bool) {
    let mut receiver = watched.subscribe();
    let came = timeout(PATIENCE, receiver.wait_for(holds)).await;
    assert!(came.is_ok(), "it did not happen that {what}");
}

#[async_trait]
impl Transport for Spy {
    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }
    async fn publish(&self, messages: Vec<Message>) -> Vec<Result<Published, TransportError>> {
        self.inner.publish(messages).await
    }
    async fn receive(&self, max: usize, wait: Duration) -> Result<Vec<Received>, TransportError> {
        self.note(Event::Polled);
        if *self.stalls.lock().unwrap() {
            std::future::pending::<()>().await;
        }
        let received = self.inner.receive(max, wait).await?;
        for one in &received {
            let id = one.pointer.as_ref().map_or("?".into(), |pointer| pointer.id.clone());
            self.ids.lock().unwrap().insert(one.receipt.clone(), id.clone());
            self.note(Event::Received(id));
        }
        Ok(received)
    }
    async fn ack(&self, receipt: &Receipt) -> Result<(), TransportError> {
        if *self.fails_to_ack.lock().unwrap() {
            return Err(TransportError::Unavailable("as the test wants it".into()));
        }
        self.inner.ack(receipt).await?;
        self.note(Event::Acked(self.id(receipt)));
        Ok(())
    }
    async fn defer(&self, receipt: &Receipt, delay: Duration) -> Result<(), TransportError> {
        self.inner.defer(receipt, delay).await?;
        self.note(Event::Deferred(self.id(receipt), delay.as_secs()));
        Ok(())
    }
    async fn extend(&self, receipt: &Receipt, span: Duration) -> Result<(), TransportError> {
        self.inner.extend(receipt, span).await?;
        self.note(Event::Extended(self.id(receipt)));
        Ok(())
    }
    async fn probe(&self) -> Result<(), TransportError> {
        self.inner.probe().await
    }
    async fn close(&self) {
        self.inner.close().await;
        self.note(Event::Closed);
    }
}

type Script = Box<dyn Fn(&MessagePointer) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// What targets have seen.
#[derive(Default)]
pub struct Seen {
    /// In the order in which calls began, and when.
    pub began: Vec<(String, Instant)>,
    pub ended: Vec<String>,
    pub at_once: usize,
    pub at_once_max: usize,
}

impl Seen {
    pub fn ids(&self) -> Vec<&str> {
        self.began.iter().map(|(id, _)| id.as_str()).collect()
    }
    pub fn calls_of(&self, id: &str) -> usize {
        self.began.iter().filter(|(known, _)| known == id).count()
    }
}

/// Targets that answer as a script says.
pub struct Stage {
    script: Script,
    pub seen: watch::Sender<Seen>,
}

impl Stage {
    pub fn new<F>(script: impl Fn(&MessagePointer) -> F + Send + Sync + 'static) -> Arc<Stage>
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let script: Script = Box::new(move |pointer| Box::pin(script(pointer)));
        Arc::new(Stage { script, seen: watch::Sender::new(Seen::default()) })
    }

    /// Every call takes so long and is acknowledged.
    pub fn taking(span: Duration) -> Arc<Stage> {
        Stage::new(move |_| async move {
            lasts(span).await;
            ok()
        })
    }

    pub async fn until(&self, what: &str, holds: impl FnMut(&Seen) -> bool) {
        until(&self.seen, what, holds).await;
    }
}

struct Presence<'a>(&'a Stage, String);

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.0.seen.send_modify(|seen| seen.at_once -= 1);
    }
}

#[async_trait]
impl Mediator for Stage {
    async fn call(&self, pointer: &MessagePointer) -> Outcome {
        self.seen.send_modify(|seen| {
            seen.began.push((pointer.id.clone(), Instant::now()));
            seen.at_once += 1;
            seen.at_once_max = seen.at_once_max.max(seen.at_once);
        });
        let presence = Presence(self, pointer.id.clone());
        let outcome = (self.script)(pointer).await;
        self.seen.send_modify(|seen| seen.ended.push(presence.1.clone()));
        outcome
    }
}

/// So long in the time of the test.
pub async fn lasts(span: Duration) {
    let _ = timeout(span, std::future::pending::<()>()).await;
}

pub fn ok() -> Outcome {
    status(200)
}

pub fn status(status: u16) -> Outcome {
    Outcome::Answered(Reply { status, ack: true, ..Reply::default() })
}

pub fn wait(seconds: u64) -> Outcome {
    Outcome::Answered(Reply { status: 429, retry_after_seconds: Some(seconds), ..Reply::default() })
}

pub fn message(id: &str, group: Option<&str>) -> Message {
    let pointer = MessagePointer {
        id: id.into(),
        pool_code: "p".into(),
        auth_token: format!("token of {id}"),
        mediation_type: MediationType::Http,
        mediation_target: "http://target.example/".into(),
        message_group_id: group.map(Into::into),
    };
    Message { pointer, attempt: 1 }
}

pub fn in_pool(pool: &str, message: Message) -> Message {
    Message { pointer: MessagePointer { pool_code: pool.into(), ..message.pointer }, ..message }
}

pub fn to(target: &str, message: Message) -> Message {
    Message { pointer: MessagePointer { mediation_target: target.into(), ..message.pointer }, ..message }
}

pub fn pool(code: &str, concurrency: u32) -> PoolConfig {
    PoolConfig { concurrency: Some(concurrency), ..PoolConfig::new(code) }
}

pub fn config(pools: &[PoolConfig]) -> RouterConfig {
    RouterConfig { pools: pools.to_vec(), ..RouterConfig::new(Targets::Any) }
}

pub fn queue() -> MemoryQueue {
    MemoryQueue::new(VISIBILITY, None)
}

pub async fn publish(queue: &MemoryQueue, messages: Vec<Message>) {
    let transport = queue.connect();
    for answer in transport.publish(messages).await {
        answer.unwrap();
    }
}

/// A router between the queue and the stage.
pub fn start(pools: &[PoolConfig], spy: &Arc<Spy>, stage: &Arc<Stage>) -> Running {
    Router::start_with(config(pools), spy.clone(), stage.clone())
}
