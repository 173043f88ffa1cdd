//! The job author's side: jobs, and the runner that gives them work.

mod builtin;
mod held;
mod job;
mod runner;

pub use builtin::{ExecAllow, register_builtin, register_exec};
#[cfg(feature = "http")]
pub use builtin::{HttpAllow, NoClient, register_http};
pub use job::{Job, JobFuture, Registry};
pub use model::{Claim, Failure, Outcome};
pub use runner::{Runner, RunnerConfig};
