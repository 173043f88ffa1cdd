//! One turn: gather, decide, commit once, act.

mod act;
mod claims;
mod intake;
mod keep;
mod node;
mod operate;
mod persist;
mod refill;
mod sessions;
mod ticks;
mod timers;

pub use node::{How, Node};
