//! Stepfast: multi-step work that must not be lost, doubled or forgotten. Embed the engine with this library.

/// What the README shows is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

pub use engine::{Config, Engine, EngineError, EngineThread, Operation};
pub use model::{Fault, LookAt, NewStep, Outcome, State, StepId, Success};
pub use store::sqlite;
pub use worker::{
    Context, ExecAllow, HttpAllow, Job, JobError, JobResult, NoClient, Registry, Remote, Runner,
    RunnerConfig, Trial, Tried, end, fail, fail_quietly, register_builtin, register_exec, register_http,
    resolved, retry_after, skip, stop, throttle_for,
};

mod local;

pub use local::{Local, LocalConfig, host_name};

/// Steps made in your own PostgreSQL transaction: they are there exactly when your rows are, and run at once.
///
/// ```no_run
/// use stepfast::postgres::tokio_postgres::Client;
/// use stepfast::postgres::{EnqueueError, enqueue_in};
/// use stepfast::{NewStep, StepId};
///
/// async fn take_order(client: &mut Client, item: &str) -> Result<StepId, EnqueueError> {
///     let transaction = client.transaction().await?;
///     transaction.execute("insert into orders (item) values ($1)", &[&item]).await?;
///     let charge = NewStep { label: Some(item.into()), delay_ms: Some(5_000), ..NewStep::of("charge") };
///     let step = enqueue_in(&transaction, &charge).await?;
///     transaction.commit().await?;
///     Ok(step)
/// }
/// ```
///
/// Other languages call the SQL function `stepfast.enqueue` behind it; see `docs/operations/postgres.md`.
pub mod postgres {
    pub use store::postgres::{EnqueueError, enqueue_in, enqueue_many_in, tokio_postgres};
}
pub use postgres::{EnqueueError, enqueue_in, enqueue_many_in};
