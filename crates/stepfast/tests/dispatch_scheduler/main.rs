//! Deliveries over a queue, through the real binary: embedded, and with a broker, a router and nodes that die.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod bench;
mod changes;
#[path = "../common/mod.rs"]
mod common;
mod endpoint;
mod kills;
mod lifecycle;
mod receiver;
mod scene;
mod sqs;
mod steering;
