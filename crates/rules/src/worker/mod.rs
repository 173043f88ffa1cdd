//! What a worker's answer does to its step.

mod report;

pub use report::{Answer, decide};
