//! The suite of all transports, and real servers to play it on.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

pub mod activemq;
mod cases;
mod feed;
pub mod ministack;
mod process;
mod suite;

pub use suite::{Rig, run};
