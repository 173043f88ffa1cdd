//! What can go wrong with a broker, by what the caller should do about it.

/// Why a broker did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// Try again later; what was asked may or may not have happened.
    #[error("the broker cannot be used now: {0}")]
    Unavailable(String),
    /// This message will never be taken.
    #[error("the broker takes no such message: {0}")]
    Refused(String),
    /// The delivery is somebody else's by now, or ended.
    #[error("the receipt is no longer valid")]
    Gone,
}

/// Why an address of a queue cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address of the queue cannot be used: {0}")]
pub struct AddressFault(pub String);
