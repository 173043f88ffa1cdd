//! The router between queues and targets: in paused time with targets that follow a script, in real time over HTTP, and on real brokers.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod answers;
mod breaker;
mod brokers;
mod crowd;
mod flow;
mod pools;
mod support;
mod trouble;
