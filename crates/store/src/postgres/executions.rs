//! An execution begun and ended in a transaction of the caller, who brings the connection.
//!
//! Why    an effect in the same database and the record of it are then one commit: a crash leaves both or neither. The SQL
//!        functions do the work, so that every language has the same; here they only get types.

use crate::executions::Beginning;
use model::{ExecutionAsk, ExecutionName, Fault, OwnerToken, Timestamp, limits};
use rules::idempotency::Refusal;
use thiserror::Error;
use tokio_postgres::GenericClient;
use tokio_postgres::error::SqlState;

const BEGIN: &str =
    "select verdict, attempt, (extract(epoch from lease_ends_at) * 1000000)::bigint, answer::text, error,
        failed_attempts
   from stepfast.begin_execution_hashed($1, $2, $3, make_interval(secs => $4), $5, make_interval(secs => $6),
        encode($7, 'hex')::uuid)";
const COMPLETE: &str = "select stepfast.complete_execution($1, $2, encode($3, 'hex')::uuid, $4::text::json)";
const FAIL: &str = "select stepfast.fail_execution($1, $2, encode($3, 'hex')::uuid, $4)";

/// Why an execution was not begun or ended. Unless nothing was sent, the transaction is over.
#[derive(Debug, Error)]
pub enum ExecutionInError {
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Fault>),
    #[error("execution {name}: {why}")]
    Refused { name: ExecutionName, why: Refusal },
    #[error("the execution could not be recorded")]
    Database(#[from] tokio_postgres::Error),
}

type Result<T> = std::result::Result<T, ExecutionInError>;

/// Begin with whatever else the transaction does: if it rolls back, nobody has begun. Another transaction that has begun the same
/// and is still open is waited for, and its answer is replayed.
pub async fn begin_in<C: GenericClient + Sync>(client: &C, ask: &ExecutionAsk) -> Result<Beginning> {
    let faults = ask.faults();
    if !faults.is_empty() {
        return Err(ExecutionInError::Invalid(faults));
    }
    let attempts = i32::try_from(ask.max_attempts).unwrap_or(i32::MAX);
    let (namespace, key) = (&ask.name.namespace, &ask.name.key);
    let (lease, keep) = (ask.lease.as_secs_f64(), ask.keep.as_secs_f64());
    let owner = ask.owner.bytes().as_slice();
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
        [namespace, key, &ask.input.0.as_slice(), &lease, &attempts, &keep, &owner];
    let row = client.query_one(BEGIN, &values).await.map_err(|e| told(e, &ask.name))?;
    let attempt = u32::try_from(row.try_get::<_, i64>(1)?).unwrap_or(u32::MAX);
    let until = Timestamp(row.try_get::<_, Option<i64>>(2)?.unwrap_or_default());
    Ok(match row.try_get::<_, &str>(0)? {
        "begun" => Beginning::Begun { attempt, lease_ends_at: until },
        "replay" => Beginning::Replay { answer: row.try_get(3)? },
        "in_progress" => Beginning::Wait { until },
        "given_up" => Beginning::GivenUp {
            failures: u32::try_from(row.try_get::<_, i64>(5)?).unwrap_or(u32::MAX),
            error: row.try_get(4)?,
        },
        _ => Beginning::Conflict,
    })
}

/// Record the answer, a JSON text, with whatever else the transaction does.
pub async fn complete_in<C: GenericClient + Sync>(
    client: &C,
    name: &ExecutionName,
    owner: OwnerToken,
    answer: &str,
) -> Result<()> {
    fits("answer", answer)?;
    let owner = owner.bytes().as_slice();
    let done = client.execute(COMPLETE, &[&name.namespace, &name.key, &owner, &answer]).await;
    done.map(drop).map_err(|e| told(e, name))
}

/// Record that it failed; one of its attempts is used up.
pub async fn fail_in<C: GenericClient + Sync>(
    client: &C,
    name: &ExecutionName,
    owner: OwnerToken,
    error: &str,
) -> Result<()> {
    fits("error", error)?;
    let owner = owner.bytes().as_slice();
    let done = client.execute(FAIL, &[&name.namespace, &name.key, &owner, &error]).await;
    done.map(drop).map_err(|e| told(e, name))
}

fn fits(field: &str, text: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(ExecutionInError::Invalid(vec![Fault::nul(field)]));
    }
    if text.len() <= limits::PAYLOAD_BYTES_MAX {
        return Ok(());
    }
    let problem = format!("is {} bytes long", text.len());
    let fix = format!("use at most {} bytes", limits::PAYLOAD_BYTES_MAX);
    Err(ExecutionInError::Invalid(vec![Fault { field: field.into(), problem, fix }]))
}

/// The functions say what they refuse by code, and what is wrong with a value as data in the detail.
fn told(error: tokio_postgres::Error, name: &ExecutionName) -> ExecutionInError {
    let Some(refused) = error.as_db_error() else { return ExecutionInError::Database(error) };
    let lost = || {
        let attempt = refused.message().split_whitespace().rev().nth(2).and_then(|n| n.parse().ok());
        Refusal::Lost { attempt: attempt.unwrap_or_default() }
    };
    let why = match refused.code().code() {
        "SF404" => Refusal::NotThere,
        "SF409" => lost(),
        "SF410" => Refusal::Ended,
        _ if *refused.code() == SqlState::INVALID_PARAMETER_VALUE => {
            let faults = refused.detail().and_then(|text| serde_json::from_str::<Vec<Fault>>(text).ok());
            return faults.map_or(ExecutionInError::Database(error), ExecutionInError::Invalid);
        }
        _ => return ExecutionInError::Database(error),
    };
    ExecutionInError::Refused { name: name.clone(), why }
}
