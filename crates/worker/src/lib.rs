//! The job author's side: jobs, and the runner that gives them work.

mod builtin;
mod held;
mod job;
mod runner;

pub use builtin::register_builtin;
pub use job::{Job, JobFuture, Registry};
pub use model::{Claim, Failure, Outcome};
pub use runner::{Runner, RunnerConfig};
