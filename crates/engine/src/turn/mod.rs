//! One turn: gather, decide, commit once, act.

mod abroad;
mod act;
mod attempts;
mod away;
mod begin;
mod claims;
mod deadlines;
mod expire;
mod gather;
mod groups;
mod hand;
mod insert;
mod intake;
mod keep;
mod lines;
mod node;
mod notices;
mod operate;
mod outbox;
mod owed;
mod peers;
mod persist;
mod pools;
mod refill;
mod remedies;
mod secrets;
mod sessions;
mod settling;
mod signs;
mod stuck;
mod subscribed;
mod ticks;
mod timers;
mod workflows;

pub use node::{How, Node};
pub use signs::{CommitOutcome, Signs};
