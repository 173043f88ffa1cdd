//! The job author's side: jobs, and the runner that gives them work.

mod builtin;
mod context;
mod desk;
#[cfg(feature = "remote")]
mod far;
mod flow;
mod grace;
mod held;
mod instead;
mod job;
mod lifecycle;
mod link;
mod once;
mod policy;
mod processor;
#[cfg(feature = "remote")]
mod remote;
mod runner;
mod trial;

pub use builtin::{ExecAllow, register_builtin, register_exec};
#[cfg(feature = "http")]
pub use builtin::{
    HttpAllow, NoClient, Signing, register_deliver, register_http, variable_part as signing_variable_part,
};
pub use context::Context;
pub use flow::{Flow, FlowStart};
pub use grace::Grace;
pub use instead::{
    abort, end, fail, fail_quietly, poll_again, poll_again_after, resolved, retry_after, skip, stop,
    throttle_for,
};
pub use job::{Job, JobError, JobResult, Registry};
pub use link::Link;
pub use model::{
    Claim, Delivery, DeliveryError, DeliveryStatus, Failure, ForWorkflow, LookAt, NewStep, Outcome, Poll,
    Progress, Success, Timestamp,
};
pub use processor::Processor;
#[cfg(feature = "remote")]
pub use remote::Remote;
pub use runner::{Runner, RunnerConfig};
pub use trial::{Trial, Tried};
