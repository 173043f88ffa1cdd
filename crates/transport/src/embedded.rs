//! The queue without a broker: the store has what is queued, and this hands it over within the process.
//!
//! Why    a step that is queued is a row, so nothing is lost with the process: whoever publishes hands all of it over again. What is
//!        here already is not taken twice.

use crate::{Capabilities, Message, MessagePointer, Published, Receipt, Received, Transport, TransportError};
use async_trait::async_trait;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

const CAPABILITIES: Capabilities = Capabilities {
    name: "embedded",
    publish_batch_max: 1_000,
    receive_batch_max: 1_000,
    body_bytes_max: 1 << 20,
    dedup_window: Some(Duration::ZERO),
    hides: true,
    durable: false,
    visibility: None,
    groups_in_broker: false,
};

/// What was cancelled stays here until somebody was sent for it in vain: while nobody is, that must not go on without end.
const DEPTH_MAX: usize = 200_000;

/// Every transport on it sees the same messages.
#[derive(Clone, Default)]
pub struct EmbeddedQueue(Arc<Shared>);

#[derive(Default)]
struct Shared {
    inside: Mutex<Inside>,
    changed: Notify,
}

#[derive(Default)]
struct Inside {
    ready: VecDeque<Entry>,
    deferred: BTreeMap<(Instant, u64), Entry>,
    held: HashMap<Receipt, Entry>,
    /// The dedup id of all of them.
    here: HashSet<String>,
    serial: u64,
    #[cfg(feature = "conformance")]
    stopped: bool,
}

struct Entry {
    pointer: Result<MessagePointer, String>,
    attempt: Option<u32>,
    dedup_id: String,
    redelivered: bool,
}

impl EmbeddedQueue {
    pub fn connect(&self) -> EmbeddedTransport {
        EmbeddedTransport { queue: self.clone(), closed: AtomicBool::new(false), mine: Mutex::default() }
    }
    /// Messages that are not acknowledged.
    pub fn depth(&self) -> usize {
        self.inside().here.len()
    }
    /// Put anything at all into it.
    #[cfg(feature = "conformance")]
    pub fn put(&self, body: &[u8]) {
        let pointer = MessagePointer::parse(body).map_err(|fault| fault.to_string());
        let entry = Entry { pointer, attempt: None, dedup_id: String::new(), redelivered: false };
        self.inside().ready.push_back(entry);
        self.0.changed.notify_waiters();
    }
    /// As if it were a broker that is away.
    #[cfg(feature = "conformance")]
    pub fn stop(&self, stopped: bool) {
        self.inside().stopped = stopped;
        self.0.changed.notify_waiters();
    }
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    fn publish(&mut self, message: Message) -> Result<Published, TransportError> {
        let bytes = message.pointer.to_json().len();
        if bytes > CAPABILITIES.body_bytes_max {
            let most = CAPABILITIES.body_bytes_max;
            return Err(TransportError::Refused(format!("the pointer has {bytes} bytes, at most {most} go")));
        }
        let dedup_id = message.dedup_id();
        if self.here.len() >= DEPTH_MAX && !self.here.contains(&dedup_id) {
            return Err(TransportError::Unavailable(format!(
                "it holds {DEPTH_MAX} messages, and takes no more"
            )));
        }
        if !self.here.insert(dedup_id.clone()) {
            return Ok(Published::Duplicate);
        }
        let (pointer, attempt) = (Ok(message.pointer), Some(message.attempt));
        self.ready.push_back(Entry { pointer, attempt, dedup_id, redelivered: false });
        Ok(Published::New)
    }

    /// What can be received now, and when the next deferred one can.
    fn receive(&mut self, max: usize, now: Instant) -> (Vec<Received>, Option<Instant>) {
        while let Some(first) = self.deferred.first_entry()
            && first.key().0 <= now
        {
            let entry = first.remove();
            self.ready.push_back(entry);
        }
        let most = max.min(CAPABILITIES.receive_batch_max).min(self.ready.len());
        let taken: Vec<Entry> = self.ready.drain(..most).collect();
        let received = taken.into_iter().map(|entry| {
            self.serial += 1;
            let receipt = Receipt::new(self.serial.to_string());
            let received = Received {
                pointer: entry.pointer.clone(),
                receipt: receipt.clone(),
                attempt_header: entry.attempt,
                redelivered: entry.redelivered,
            };
            self.held.insert(receipt, Entry { redelivered: true, ..entry });
            received
        });
        let received = received.collect();
        (received, self.deferred.first_key_value().map(|((at, _), _)| *at))
    }
}

pub struct EmbeddedTransport {
    queue: EmbeddedQueue,
    closed: AtomicBool,
    /// What it has received and not ended.
    mine: Mutex<HashSet<Receipt>>,
}

impl EmbeddedTransport {
    fn open(&self) -> Result<(), TransportError> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(TransportError::Unavailable("it was closed".into()));
        }
        #[cfg(feature = "conformance")]
        if self.queue.inside().stopped {
            return Err(TransportError::Unavailable("it was stopped".into()));
        }
        Ok(())
    }
    fn mine(&self) -> MutexGuard<'_, HashSet<Receipt>> {
        self.mine.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// What it has and did not end goes to whoever else receives.
    fn give_back(&self) {
        self.closed.store(true, Ordering::Relaxed);
        let mine = std::mem::take(&mut *self.mine());
        let mut inside = self.queue.inside();
        for receipt in mine {
            let entry = inside.held.remove(&receipt);
            inside.ready.extend(entry);
        }
        drop(inside);
        self.queue.0.changed.notify_waiters();
    }
    fn take(&self, receipt: &Receipt) -> Result<Entry, TransportError> {
        self.open()?;
        self.mine().remove(receipt);
        self.queue.inside().held.remove(receipt).ok_or(TransportError::Gone)
    }
}

#[async_trait]
impl Transport for EmbeddedTransport {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    async fn publish(&self, messages: Vec<Message>) -> Vec<Result<Published, TransportError>> {
        let publish = |message| self.open().and_then(|()| self.queue.inside().publish(message));
        let answers = messages.into_iter().map(publish).collect();
        self.queue.0.changed.notify_waiters();
        answers
    }

    async fn receive(&self, max: usize, wait: Duration) -> Result<Vec<Received>, TransportError> {
        let deadline = Instant::now() + wait;
        loop {
            let changed = self.queue.0.changed.notified();
            tokio::pin!(changed);
            // From here on nothing is missed.
            changed.as_mut().enable();
            self.open()?;
            let (received, next) = self.queue.inside().receive(max, Instant::now());
            if !received.is_empty() || max == 0 {
                self.mine().extend(received.iter().map(|one| one.receipt.clone()));
                return Ok(received);
            }
            let soon = next.map_or(deadline, |next| next.min(deadline));
            if timeout_at(soon, changed).await.is_err() && Instant::now() >= deadline {
                return Ok(Vec::new());
            }
        }
    }

    async fn ack(&self, receipt: &Receipt) -> Result<(), TransportError> {
        let entry = self.take(receipt)?;
        self.queue.inside().here.remove(&entry.dedup_id);
        Ok(())
    }

    async fn defer(&self, receipt: &Receipt, delay: Duration) -> Result<(), TransportError> {
        let entry = self.take(receipt)?;
        let mut inside = self.queue.inside();
        inside.serial += 1;
        let key = (Instant::now() + delay, inside.serial);
        inside.deferred.insert(key, entry);
        drop(inside);
        self.queue.0.changed.notify_waiters();
        Ok(())
    }

    async fn extend(&self, receipt: &Receipt, _span: Duration) -> Result<(), TransportError> {
        self.open()?;
        if self.queue.inside().held.contains_key(receipt) { Ok(()) } else { Err(TransportError::Gone) }
    }

    async fn probe(&self) -> Result<(), TransportError> {
        self.open()
    }

    async fn close(&self) {
        self.give_back();
    }
}

impl Drop for EmbeddedTransport {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_grow_without_end() {
        let mut inside = Inside::default();
        let message = |n: usize| {
            let pointer = MessagePointer {
                id: n.to_string(),
                pool_code: String::new(),
                auth_token: String::new(),
                mediation_type: crate::MediationType::Http,
                mediation_target: String::new(),
                message_group_id: None,
            };
            Message { pointer, attempt: 1 }
        };
        inside.here.extend((0..DEPTH_MAX).map(|n| message(n).dedup_id()));
        let full = inside.publish(message(DEPTH_MAX)).unwrap_err();
        assert!(full.to_string().contains("takes no more"), "{full}");
        assert_eq!(inside.publish(message(7)), Ok(Published::Duplicate), "it is here already");
        inside.here.remove(&message(9).dedup_id());
        assert_eq!(inside.publish(message(DEPTH_MAX)), Ok(Published::New));
    }
}
