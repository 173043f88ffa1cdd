//! What a transport can do, as data that rules can read: nobody asks which broker it is.

use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    pub name: &'static str,
    /// Messages that travel together; more are split.
    pub publish_batch_max: usize,
    /// Messages that one call of `receive` gives at most.
    pub receive_batch_max: usize,
    /// A pointer of more bytes is refused.
    pub body_bytes_max: usize,
    /// How long after it has a message the broker drops it when it comes again; zero is while it has it, none is never.
    pub dedup_window: Option<Duration>,
    /// Whether the broker itself hides a deferred message. Otherwise this process holds it, and that takes a
    /// consumer's place.
    pub hides: bool,
    /// What the queue has confirmed outlives this process.
    pub durable: bool,
    /// How long a received message is hidden; none when it is hidden for as long as its connection lives.
    pub visibility: Option<Duration>,
    /// Whether the broker delivers one message of a group at a time. A hint: exclusivity is the store's.
    pub groups_in_broker: bool,
}
