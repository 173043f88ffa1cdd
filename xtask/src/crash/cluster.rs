//! Crash rounds on PostgreSQL: three nodes share one database, and everything around them breaks.

pub mod fault;
mod means;
mod nodes;
mod proxy;
mod siege;
pub mod soak;
mod takeover;

pub use means::{faketime, means};
pub use siege::run;
