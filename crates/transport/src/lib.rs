//! How a step reaches whoever runs it: pointers are published to a queue, received, and acknowledged.
//!
//! Why    the store decides order and exclusivity, and at most one message of a message group is ever published; so a
//!        transport must merely not lose and not invent, and everything else about it is data in its [`Capabilities`].

pub mod activemq;
mod capabilities;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod embedded;
mod error;
#[cfg(feature = "conformance")]
pub mod memory;
mod message;
mod pointer;
pub mod token;

pub use capabilities::Capabilities;
pub use error::{AddressFault, TransportError};
pub use message::{Message, Published, Receipt, Received};
pub use pointer::{MediationType, MessagePointer, PointerFault};

use async_trait::async_trait;
use std::time::Duration;

/// A queue of message pointers.
#[async_trait]
pub trait Transport: Send + Sync {
    fn capabilities(&self) -> &Capabilities;

    /// One answer for each message, in their order. A message whose answer is an error may still have been taken.
    async fn publish(&self, messages: Vec<Message>) -> Vec<Result<Published, TransportError>>;

    /// At least one and at most `max` messages as soon as there are any, or none after `wait`.
    ///
    /// A transport may have fetched more than it handed out; `close` gives that back.
    async fn receive(&self, max: usize, wait: Duration) -> Result<Vec<Received>, TransportError>;

    /// It is done, and never comes back. When this is unavailable, it may come back or not.
    async fn ack(&self, receipt: &Receipt) -> Result<(), TransportError>;

    /// It comes back, not before the delay.
    async fn defer(&self, receipt: &Receipt, delay: Duration) -> Result<(), TransportError>;

    /// It stays hidden from others for so long from now.
    async fn extend(&self, receipt: &Receipt, span: Duration) -> Result<(), TransportError>;

    /// Whether the broker answers now.
    async fn probe(&self) -> Result<(), TransportError>;

    /// Say goodbye: what is not acknowledged goes back, at once or when its visibility ends. Whatever is asked
    /// afterwards is unavailable.
    async fn close(&self);
}
