//! Apache ActiveMQ over STOMP 1.2, with a small client of our own.

mod address;
mod decode;
mod frame;
mod inbox;
mod line;
mod link;
mod socket;
mod transport;

pub use transport::ActiveMq;
