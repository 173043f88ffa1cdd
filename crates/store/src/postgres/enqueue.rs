//! Steps made in a transaction of the caller, who brings the connection.
//!
//! Why    a step that belongs to other rows of the same database should be there exactly when they are. The SQL function does
//!        the work, so that every language has the same; here it only gets types.

use model::{Fault, NewStep, StepId, limits};
use thiserror::Error;
use tokio_postgres::GenericClient;
use tokio_postgres::error::SqlState;

const ENQUEUE: &str =
    "select uuid_send(id) from stepfast.enqueue_verbatim($1::text::json, $2::text[]::json[]) as id";

/// Why no step was made. Unless it is [`EnqueueError::Invalid`] with nothing sent, the transaction is over.
#[derive(Debug, Error)]
pub enum EnqueueError {
    /// Everything that is wrong with the steps, in the words of the engine.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Fault>),
    #[error("the step could not be made")]
    Database(#[from] tokio_postgres::Error),
}

/// Make one step that stands alone, with whatever else the transaction does: it is there when the transaction commits, and at once
/// on its way to a worker; it never was when it rolls back.
///
/// Takes anything that speaks to the database with the schema `stepfast`: a client, a transaction, or one from a pool.
/// A step that is refused by the database ends the transaction like any other error; with a savepoint
/// ([`Transaction::savepoint`](tokio_postgres::Transaction::savepoint)) around the call it goes on.
pub async fn enqueue_in<C: GenericClient + Sync>(client: &C, step: &NewStep) -> Result<StepId, EnqueueError> {
    let made = enqueue_many_in(client, std::slice::from_ref(step)).await?;
    Ok(*made.first().expect("a step that is not refused has an id"))
}

/// Make many steps, each of which stands alone, all or none of them; the ids in the order of the steps.
pub async fn enqueue_many_in<C: GenericClient + Sync>(
    client: &C,
    steps: &[NewStep],
) -> Result<Vec<StepId>, EnqueueError> {
    if steps.len() > limits::STEPS_PER_CREATE_MAX {
        let fix = format!("send at most {} steps in one call", limits::STEPS_PER_CREATE_MAX);
        let fault = Fault { field: "steps".into(), problem: "too many steps".into(), fix };
        return Err(EnqueueError::Invalid(vec![fault]));
    }
    let faults: Vec<Fault> = steps.iter().enumerate().flat_map(|(i, step)| with_nul(i, step)).collect();
    if !faults.is_empty() {
        return Err(EnqueueError::Invalid(faults));
    }
    // Arguments travel beside the steps: nobody reads them on the way, so they stay as they were written.
    let arguments: Vec<Option<&str>> =
        steps.iter().map(|s| s.arguments.as_ref().map(|raw| raw.get())).collect();
    let bare: Vec<NewStep> = steps.iter().map(|s| NewStep { arguments: None, ..s.clone() }).collect();
    let bare = serde_json::to_string(&bare).expect("a step is plain data");
    let rows = client.query(ENQUEUE, &[&bare, &arguments]).await.map_err(told)?;
    let ids = rows.iter().map(|row| Ok(StepId::from_bytes(bytes(row.try_get(0)?))));
    ids.collect::<Result<_, tokio_postgres::Error>>().map_err(EnqueueError::Database)
}

fn bytes(id: &[u8]) -> [u8; 16] {
    id.try_into().expect("a uuid has 16 bytes")
}

/// PostgreSQL cannot read such a text, so it cannot say whose it is.
fn with_nul(i: usize, step: &NewStep) -> Vec<Fault> {
    let words = [
        ("action", Some(&step.action)),
        ("step_key", step.step_key.as_ref()),
        ("label", step.label.as_ref()),
        ("queue", step.queue.as_ref()),
        ("relatable_type", step.relatable_type.as_ref()),
        ("relatable_id", step.relatable_id.as_ref()),
        ("priority", step.priority.as_ref()),
        ("dispatch_group", step.dispatch_group.as_ref()),
        ("kind", step.kind.as_ref()),
        ("success", step.success.as_ref()),
    ];
    let with = words.into_iter().filter(|(_, word)| word.is_some_and(|word| word.contains('\0')));
    with.map(|(name, _)| Fault::nul(format!("steps[{i}].{name}"))).collect()
}

/// The function says what is wrong as text for people and as data in the detail.
fn told(error: tokio_postgres::Error) -> EnqueueError {
    let refused = error.as_db_error().filter(|e| *e.code() == SqlState::INVALID_PARAMETER_VALUE);
    let faults = refused.and_then(|e| serde_json::from_str::<Vec<Fault>>(e.detail()?).ok());
    faults.map_or(EnqueueError::Database(error), EnqueueError::Invalid)
}
