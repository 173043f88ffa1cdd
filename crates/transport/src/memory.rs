//! A queue in this process, with the faults a broker may have, for tests.
//!
//! Why    lost, doubled and late messages are rare where brokers are real, and must be met all the same.

use crate::{Capabilities, Message, MessagePointer, Published, Receipt, Received, Transport, TransportError};
use async_trait::async_trait;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

const BODY_BYTES_MAX: usize = 64 << 10;

/// What becomes of a message that is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Delivered,
    /// Confirmed, and never seen again.
    Lost,
    Doubled,
    /// Not to be received before so long.
    Delayed(Duration),
    /// Not taken, and said so.
    Failed,
    /// Taken, but the answer does not arrive.
    Unanswered,
}

type Oracle = Box<dyn FnMut(&Message) -> Fate + Send>;

/// The broker's side; every transport on it sees the same messages.
#[derive(Clone)]
pub struct MemoryQueue {
    capabilities: Capabilities,
    inside: Arc<Mutex<Inside>>,
    changed: Arc<Notify>,
}

struct Inside {
    entries: Vec<Entry>,
    seen: HashMap<String, Instant>,
    oracle: Oracle,
    stopped: bool,
    serial: u64,
}

struct Entry {
    body: Vec<u8>,
    attempt: Option<u32>,
    hidden_until: Option<Instant>,
    /// The delivery that counts.
    receipt: Option<Receipt>,
}

impl MemoryQueue {
    /// With times as the test wants them; no dedup window when none is given.
    pub fn new(visibility: Duration, dedup_window: Option<Duration>) -> MemoryQueue {
        let capabilities = Capabilities {
            name: "memory",
            publish_batch_max: 10,
            receive_batch_max: 10,
            body_bytes_max: BODY_BYTES_MAX,
            dedup_window,
            hides: true,
            durable: true,
            visibility: Some(visibility),
            groups_in_broker: false,
        };
        let inside = Inside {
            entries: Vec::new(),
            seen: HashMap::new(),
            oracle: Box::new(|_| Fate::Delivered),
            stopped: false,
            serial: 0,
        };
        MemoryQueue { capabilities, inside: Arc::new(Mutex::new(inside)), changed: Arc::default() }
    }

    pub fn connect(&self) -> MemoryTransport {
        MemoryTransport { queue: self.clone(), closed: Mutex::new(false) }
    }

    /// Asked about every message that is published from now on.
    pub fn on_publish(&self, oracle: impl FnMut(&Message) -> Fate + Send + 'static) {
        self.inside().oracle = Box::new(oracle);
    }

    pub fn stop(&self) {
        self.inside().stopped = true;
        self.changed.notify_waiters();
    }

    pub fn start(&self) {
        self.inside().stopped = false;
        self.changed.notify_waiters();
    }

    /// Put anything at all into it.
    pub fn put(&self, body: &[u8]) {
        self.inside().entries.push(Entry {
            body: body.into(),
            attempt: None,
            hidden_until: None,
            receipt: None,
        });
        self.changed.notify_waiters();
    }

    /// Messages that are not acknowledged.
    pub fn depth(&self) -> usize {
        self.inside().entries.len()
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    fn publish(
        &mut self,
        message: &Message,
        window: Option<Duration>,
        now: Instant,
    ) -> Result<Published, TransportError> {
        let body = message.pointer.to_json().into_bytes();
        if body.len() > BODY_BYTES_MAX {
            let bytes = body.len();
            return Err(TransportError::Refused(format!(
                "it has {bytes} bytes, at most {BODY_BYTES_MAX} are taken"
            )));
        }
        let fate = (self.oracle)(message);
        let unanswered = || TransportError::Unavailable("the answer was lost".into());
        if fate == Fate::Failed {
            return Err(TransportError::Unavailable("publishing failed".into()));
        }
        if let Some(window) = window {
            self.seen.retain(|_, at| now < *at + window);
            if self.seen.contains_key(&message.dedup_id()) {
                return Ok(Published::Duplicate);
            }
            self.seen.insert(message.dedup_id(), now);
        }
        let copies = match fate {
            Fate::Lost => 0,
            Fate::Doubled => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let hidden_until = if let Fate::Delayed(delay) = fate { Some(now + delay) } else { None };
            let attempt = Some(message.attempt);
            self.entries.push(Entry { body: body.clone(), attempt, hidden_until, receipt: None });
        }
        if fate == Fate::Unanswered { Err(unanswered()) } else { Ok(Published::New) }
    }

    fn take(&mut self, max: usize, visibility: Duration, now: Instant) -> Vec<Received> {
        let visible = |entry: &&mut Entry| entry.hidden_until.is_none_or(|until| until <= now);
        let mut taken = Vec::new();
        for entry in self.entries.iter_mut().filter(visible).take(max) {
            self.serial += 1;
            let receipt = Receipt::new(self.serial.to_string());
            taken.push(Received {
                pointer: MessagePointer::parse(&entry.body).map_err(|fault| fault.to_string()),
                receipt: receipt.clone(),
                attempt_header: entry.attempt,
                redelivered: entry.receipt.is_some(),
            });
            entry.receipt = Some(receipt);
            entry.hidden_until = Some(now + visibility);
        }
        taken
    }

    /// Where the delivery stands, if it still counts.
    fn find(&self, receipt: &Receipt, now: Instant) -> Result<usize, TransportError> {
        let counts = |entry: &Entry| {
            entry.receipt.as_ref() == Some(receipt) && entry.hidden_until.is_some_and(|until| now < until)
        };
        self.entries.iter().position(counts).ok_or(TransportError::Gone)
    }
}

/// One party's way to the queue.
pub struct MemoryTransport {
    queue: MemoryQueue,
    closed: Mutex<bool>,
}

impl MemoryTransport {
    /// The queue, when it can be reached.
    fn inside(&self) -> Result<MutexGuard<'_, Inside>, TransportError> {
        if *self.closed.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(TransportError::Unavailable("the transport is closed".into()));
        }
        let inside = self.queue.inside();
        if inside.stopped {
            return Err(TransportError::Unavailable("the queue is stopped".into()));
        }
        Ok(inside)
    }
}

#[async_trait]
impl Transport for MemoryTransport {
    fn capabilities(&self) -> &Capabilities {
        &self.queue.capabilities
    }

    async fn publish(&self, messages: Vec<Message>) -> Vec<Result<Published, TransportError>> {
        let (window, now) = (self.queue.capabilities.dedup_window, Instant::now());
        let answers = messages.iter().map(|message| self.inside()?.publish(message, window, now)).collect();
        self.queue.changed.notify_waiters();
        answers
    }

    async fn receive(&self, max: usize, wait: Duration) -> Result<Vec<Received>, TransportError> {
        let deadline = Instant::now() + wait;
        let max = max.min(self.queue.capabilities.receive_batch_max);
        let visibility = self.queue.capabilities.visibility.unwrap_or_default();
        loop {
            let changed = self.queue.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            let now = Instant::now();
            let next_at = {
                let mut inside = self.inside()?;
                let taken = inside.take(max, visibility, now);
                if !taken.is_empty() || now >= deadline {
                    return Ok(taken);
                }
                inside.entries.iter().filter_map(|entry| entry.hidden_until).fold(deadline, Instant::min)
            };
            // Woken or not, the queue is looked at again.
            let _ = timeout_at(next_at, changed).await;
        }
    }

    async fn ack(&self, receipt: &Receipt) -> Result<(), TransportError> {
        let mut inside = self.inside()?;
        let at = inside.find(receipt, Instant::now())?;
        inside.entries.remove(at);
        Ok(())
    }

    async fn defer(&self, receipt: &Receipt, delay: Duration) -> Result<(), TransportError> {
        self.extend(receipt, delay).await
    }

    async fn extend(&self, receipt: &Receipt, span: Duration) -> Result<(), TransportError> {
        let now = Instant::now();
        let mut inside = self.inside()?;
        let at = inside.find(receipt, now)?;
        inside.entries[at].hidden_until = Some(now + span);
        drop(inside);
        self.queue.changed.notify_waiters();
        Ok(())
    }

    async fn probe(&self) -> Result<(), TransportError> {
        self.inside().map(|_| ())
    }

    async fn close(&self) {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.queue.changed.notify_waiters();
    }
}
