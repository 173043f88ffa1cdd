//! The verbs of Stepfast: pure rules over a snapshot, returning effects. No I/O, no clock, no dice.

pub mod backoff;
pub mod board;
pub mod creation;
pub mod dispatcher;
pub mod eligible;
pub mod fifo;
pub mod flow;
pub mod idempotency;
pub mod key;
pub mod machine;
pub mod notice;
pub mod operator;
pub mod outbox;
pub mod pick;
pub mod pool;
pub mod progress;
pub mod recover;
pub mod restored;
pub mod settle;
pub mod share;
pub mod stuck;
pub mod subscription;
pub mod why;
pub mod worker;
pub mod workflow;

#[cfg(test)]
mod check;
#[cfg(test)]
mod creation_tests;
#[cfg(test)]
mod matrices;
#[cfg(test)]
mod models;
#[cfg(test)]
mod properties;
