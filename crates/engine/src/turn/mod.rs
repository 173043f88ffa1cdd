//! One turn: gather, decide, commit once, act.

mod abroad;
mod act;
mod attempts;
mod away;
mod claims;
mod expire;
mod gather;
mod groups;
mod hand;
mod insert;
mod intake;
mod keep;
mod lines;
mod node;
mod operate;
mod outbox;
mod owed;
mod peers;
mod persist;
mod pools;
mod refill;
mod sessions;
mod ticks;
mod timers;

pub use node::{How, Node};
