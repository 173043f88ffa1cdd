//! What a worker's answer does to its step.

mod report;

pub(crate) use report::unstorable;
pub use report::{Answer, decide, is_current};
