//! The messages of one connection that are not acknowledged: waiting, handed out, or deferred.
//!
//! Why    a broker that is told "not now" lets later messages overtake and gives up after a few times. So what is deferred
//!        is held here, unacknowledged, and handed out again; if this process dies the broker has it still.

use super::frame::Frame;
use crate::{MessagePointer, Receipt, Received};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;

pub const ATTEMPT_HEADER: &str = "stepfast_attempt";

/// One message as the broker delivered it.
#[derive(Clone)]
struct Delivery {
    /// What the broker wants to hear in the acknowledgement.
    ack: String,
    pointer: Result<MessagePointer, String>,
    attempt_header: Option<u32>,
    redelivered: bool,
}

#[derive(Default)]
struct Shelves {
    waiting: VecDeque<Delivery>,
    out: HashMap<Receipt, Delivery>,
    /// By when they are due; the number keeps those of one instant apart.
    deferred: BTreeMap<(Instant, u64), Delivery>,
    consumers: usize,
    serial: u64,
}

pub struct Inbox {
    /// Part of every receipt: those of another connection are unknown here.
    session: String,
    shelves: Mutex<Shelves>,
    arrived: Notify,
}

impl Inbox {
    pub fn new(session: &str) -> Inbox {
        Inbox { session: session.into(), shelves: Mutex::default(), arrived: Notify::new() }
    }

    /// A message has come. One without an acknowledgement's name was not asked for by us.
    pub fn arrive(&self, frame: &Frame) -> Result<(), String> {
        let ack = frame.header("ack").ok_or("a message came that cannot be acknowledged")?;
        let delivery = Delivery {
            ack: ack.into(),
            pointer: pointer(frame),
            attempt_header: frame.header(ATTEMPT_HEADER).and_then(|text| text.parse().ok()),
            redelivered: frame.header("redelivered") == Some("true"),
        };
        self.shelves().waiting.push_back(delivery);
        self.arrived.notify_one();
        Ok(())
    }

    pub fn arrived(&self) -> Notified<'_> {
        self.arrived.notified()
    }

    /// What is due goes before what is new. When nothing is there, when the next is due.
    pub fn take(&self, max: usize, now: Instant) -> (Vec<Received>, Option<Instant>) {
        let mut shelves = self.shelves();
        let mut taken = Vec::new();
        while taken.len() < max
            && let Some(delivery) = shelves.next(now)
        {
            shelves.serial += 1;
            let receipt = Receipt::new(format!("{}/{}", self.session, shelves.serial));
            taken.push(Received {
                pointer: delivery.pointer.clone(),
                receipt: receipt.clone(),
                attempt_header: delivery.attempt_header,
                redelivered: delivery.redelivered,
            });
            shelves.out.insert(receipt, delivery);
        }
        (taken, shelves.deferred.keys().next().map(|(due_at, _)| *due_at))
    }

    /// The name to acknowledge it by; whoever asks is the last to have it.
    pub fn finish(&self, receipt: &Receipt) -> Option<String> {
        self.shelves().out.remove(receipt).map(|delivery| delivery.ack)
    }

    pub fn defer(&self, receipt: &Receipt, delay: Duration, now: Instant) -> Option<()> {
        let mut shelves = self.shelves();
        let delivery = Delivery { redelivered: true, ..shelves.out.remove(receipt)? };
        shelves.serial += 1;
        let key = (now + delay, shelves.serial);
        shelves.deferred.insert(key, delivery);
        self.arrived.notify_one();
        Some(())
    }

    pub fn holds(&self, receipt: &Receipt) -> bool {
        self.shelves().out.contains_key(receipt)
    }

    /// The number of a new consumer, if fewer than `free` of at most `most` can still be sent a message.
    pub fn add_consumer(&self, free: usize, most: usize) -> Option<usize> {
        let mut shelves = self.shelves();
        let number = shelves.consumers;
        if !shelves.wants_consumer(free, most) {
            return None;
        }
        shelves.consumers += 1;
        Some(number)
    }

    pub fn wants_consumer(&self, free: usize, most: usize) -> bool {
        self.shelves().wants_consumer(free, most)
    }

    /// Whoever stops waiting lets another look after what is left.
    pub fn pass_on(&self) {
        let shelves = self.shelves();
        if !shelves.waiting.is_empty() || !shelves.deferred.is_empty() {
            self.arrived.notify_one();
        }
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelves {
    fn wants_consumer(&self, free: usize, most: usize) -> bool {
        self.consumers < most && self.consumers < free + self.out.len() + self.deferred.len()
    }

    fn next(&mut self, now: Instant) -> Option<Delivery> {
        match self.deferred.first_entry() {
            Some(first) if first.key().0 <= now => Some(first.remove()),
            _ => self.waiting.pop_front(),
        }
    }
}

fn pointer(frame: &Frame) -> Result<MessagePointer, String> {
    if frame.dropped > 0 {
        return Err(format!("the body has {} bytes, too many", frame.body.len() + frame.dropped));
    }
    MessagePointer::parse(&frame.body).map_err(|fault| fault.to_string())
}

#[cfg(test)]
mod tests {
    use super::{Frame, Inbox};
    use std::time::Duration;
    use tokio::time::Instant;

    const NO_POINTER: &str = "the body is no message pointer: expected value at line 1 column 1";

    fn inbox(names: &[&str]) -> Inbox {
        let inbox = Inbox::new("session");
        for name in names {
            let frame = Frame::new("MESSAGE").with("ack", *name).carrying(b"x".to_vec());
            inbox.arrive(&frame).unwrap();
        }
        inbox
    }

    #[test]
    fn each_is_handed_out_once_and_finished_once() {
        let (inbox, now) = (inbox(&["a", "b", "c"]), Instant::now());
        let (two, _) = inbox.take(2, now);
        let (one, _) = inbox.take(2, now);
        assert_eq!((two.len(), one.len(), inbox.take(2, now).0.len()), (2, 1, 0));
        assert_eq!(two[0].pointer, Err(NO_POINTER.into()));
        assert_eq!(inbox.finish(&two[1].receipt).as_deref(), Some("b"));
        assert_eq!(inbox.finish(&two[1].receipt), None);
    }

    #[test]
    fn what_is_handed_out_or_deferred_takes_a_consumer() {
        let (inbox, now) = (inbox(&["a", "b"]), Instant::now());
        let added = |free, most| std::iter::from_fn(|| inbox.add_consumer(free, most)).count();
        assert_eq!((added(2, 9), added(2, 9)), (2, 0));
        let (taken, _) = inbox.take(2, now);
        inbox.defer(&taken[0].receipt, Duration::from_secs(1), now).unwrap();
        assert_eq!((added(3, 4), added(3, 9), added(3, 9)), (2, 1, 0));
        inbox.finish(&taken[1].receipt).unwrap();
        assert_eq!((added(3, 9), added(5, 9)), (0, 1));
    }

    #[test]
    fn what_is_deferred_comes_back_when_due_with_another_receipt() {
        let (inbox, now) = (inbox(&["a"]), Instant::now());
        let (first, _) = inbox.take(1, now);
        inbox.defer(&first[0].receipt, Duration::from_secs(9), now).unwrap();
        let due_at = now + Duration::from_secs(9);
        assert_eq!(inbox.take(1, due_at - Duration::from_millis(1)), (Vec::new(), Some(due_at)));
        let (again, _) = inbox.take(1, due_at);
        assert!(again[0].redelivered && again[0].receipt != first[0].receipt);
        assert_eq!(inbox.finish(&first[0].receipt), None);
        assert_eq!(inbox.finish(&again[0].receipt).as_deref(), Some("a"));
    }

    #[test]
    fn a_receipt_of_another_connection_is_unknown() {
        let (inbox, now) = (inbox(&["a"]), Instant::now());
        let (taken, _) = inbox.take(1, now);
        let other = Inbox::new("another session");
        assert_eq!(other.finish(&taken[0].receipt), None);
        assert_eq!(other.defer(&taken[0].receipt, Duration::ZERO, now), None);
    }

    #[test]
    fn a_body_of_which_a_part_was_dropped_is_no_pointer() {
        let frame = Frame { dropped: 5, ..Frame::new("MESSAGE").with("ack", "a") };
        let inbox = Inbox::new("session");
        inbox.arrive(&frame).unwrap();
        let (taken, _) = inbox.take(1, Instant::now());
        assert_eq!(taken[0].pointer, Err("the body has 5 bytes, too many".into()));
    }
}
