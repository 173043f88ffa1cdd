//! One call to a target, and all that can come of it.

use async_trait::async_trait;
use transport::MessagePointer;

/// Calls the target of a pointer once. It is given up when the mediation timeout ends.
#[async_trait]
pub trait Mediator: Send + Sync {
    async fn call(&self, pointer: &MessagePointer) -> Outcome;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Answered(Reply),
    /// The answer has more bytes than are read, so nobody knows whether it acknowledges.
    TooLong {
        status: u16,
    },
    /// There was no connection, or it broke.
    Unreachable(String),
    TimedOut,
    /// This pointer can never be called.
    Refused(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    /// False only if the answer says so.
    pub ack: bool,
    pub message: Option<String>,
    pub delay_seconds: Option<u64>,
    pub retry_after_seconds: Option<u64>,
}
