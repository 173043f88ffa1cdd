//! What goes into a queue and what comes out of it.

use crate::MessagePointer;
use std::fmt;

/// A pointer on its way to the queue, for one attempt of its step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub pointer: MessagePointer,
    pub attempt: u32,
}

impl Message {
    /// The same attempt of the same step is the same message, however often it is sent.
    pub fn dedup_id(&self) -> String {
        format!("{}-{}", self.pointer.id, self.attempt)
    }
}

/// Both are success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// The broker has it. One that drops a duplicate without saying so answers this too.
    New,
    /// The broker had it already.
    Duplicate,
}

/// One delivery of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// What is no pointer says why, and can be acknowledged all the same.
    pub pointer: Result<MessagePointer, String>,
    pub receipt: Receipt,
    /// The attempt it was published for, if whoever published it said so.
    pub attempt_header: Option<u32>,
    /// Whether the broker has delivered it before, as far as it tells.
    pub redelivered: bool,
}

/// The right to end one delivery; it means something only to the transport that gave it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Receipt(String);

impl Receipt {
    pub fn new(text: impl Into<String>) -> Receipt {
        Receipt(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receipt({})", self.0)
    }
}
