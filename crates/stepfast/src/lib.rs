//! Stepfast: multi-step work that must not be lost, doubled or forgotten. Embed the engine with this library.

/// What the README shows is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

/// And so is the Rust in the guide to workflows.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/workflows.md")]
mod workflows_guide {}

/// And so is that in the guide to flows.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/flows.md")]
mod flows_guide {}

/// And that in the other guides.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../../../docs/execute-once.md")]
    mod execute_once {}
    #[doc = include_str!("../../../docs/workers.md")]
    mod workers {}
    #[doc = include_str!("../../../docs/router.md")]
    mod router {}
    #[doc = include_str!("../../../docs/operations/postgres.md")]
    mod postgres {}
}

pub use definition::{Diagnostic, builder, read as read_definition};
pub use engine::{
    Applied, Ask, Begin, Begun, Config, Created, Engine, EngineError, EngineThread, ExecutionError,
    Executions, FlowError, FlowNow, FlowRefusal, Flows, Held, Once, OnceError, Operation, StartWorkflow,
    Started, WorkflowOperated, WorkflowOperation, WorkflowVerb,
};
pub use model::definition::{Definition, Ending, FailurePolicy, Gather, RetryScope};
pub use model::{
    Delivery, DeliveryError, DeliveryStatus, DispatchMode, Fault, FlowId, FlowState, ForWorkflow, LookAt,
    NewStep, Outcome, Priority, Progress, State, StepId, Success, Timestamp, WorkflowId, WorkflowState,
};
pub use store::sqlite;
pub use worker::{
    Context, ExecAllow, Flow, FlowStart, Grace, HttpAllow, Job, JobError, JobResult, Link, NoClient,
    Processor, Registry, Remote, Runner, RunnerConfig, Signing, Trial, Tried, end, fail, fail_quietly,
    register_builtin, register_deliver, register_exec, register_http, resolved, retry_after,
    signing_variable_part, skip, stop, throttle_for,
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
///
/// An effect in the same database is recorded in the same way: begin, do it and complete it in one transaction.
///
/// ```no_run
/// use stepfast::postgres::tokio_postgres::Client;
/// use stepfast::postgres::{Beginning, ExecutionInError, begin_in, complete_in};
/// use stepfast::{Ask, Engine};
///
/// async fn credit(engine: &Engine, client: &mut Client, payment: &str) -> Result<(), ExecutionInError> {
///     let owner = engine.executions().new_owner();
///     let ask = Ask::new("payments.credit", payment).input(&payment).by(owner);
///     let transaction = client.transaction().await?;
///     if let Beginning::Begun { .. } = begin_in(&transaction, &ask).await? {
///         transaction.execute("update wallets set balance = balance + 1 where payment = $1", &[&payment]).await?;
///         complete_in(&transaction, &ask.name, owner, "{\"credited\":1}").await?;
///     }
///     transaction.commit().await?;
///     Ok(())
/// }
/// ```
pub mod postgres {
    pub use store::executions::Beginning;
    pub use store::postgres::{
        EnqueueError, ExecutionInError, begin_in, complete_in, enqueue_in, enqueue_many_in, fail_in,
        tokio_postgres,
    };
}
pub use postgres::{EnqueueError, enqueue_in, enqueue_many_in};
