//! Records as they are read: whole for a rule and for one who looks at one, in short for a list.

use crate::sql::{Param, Row, Sql};
use crate::statements::{EXECUTION_EVENTS, FIND_EXECUTION};
use crate::{Result, StoreError, params, rows};
use model::{
    Execution, ExecutionEvent, ExecutionMoment, ExecutionName, ExecutionState, InputHash, OwnerToken,
    Standing, Timestamp, limits,
};

/// An execution with its history, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionShown {
    pub execution: Execution,
    pub history: Vec<ExecutionMoment>,
}

/// Which executions to list, newest first. What is left out does not filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionFilter {
    pub namespace: Option<String>,
    pub state: Option<ExecutionState>,
    /// Older than this one.
    pub after: Option<(Timestamp, ExecutionName)>,
    pub limit: usize,
}

/// An execution without its answer, which may be large.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionLine {
    pub name: ExecutionName,
    pub state: ExecutionState,
    pub attempt: u32,
    pub failed_attempts: u32,
    pub max_attempts: u32,
    pub lease_ends_at: Option<Timestamp>,
    /// The beginning of what went wrong.
    pub error: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub keep_until: Timestamp,
}

pub fn find(sql: &dyn Sql, name: &ExecutionName) -> Result<Option<Execution>> {
    sql.first(FIND_EXECUTION, params![&name.namespace, &name.key], execution)
}

pub fn show(sql: &dyn Sql, name: &ExecutionName) -> Result<Option<ExecutionShown>> {
    let Some(execution) = find(sql, name)? else { return Ok(None) };
    let mut history = sql.rows(EXECUTION_EVENTS, params![&name.namespace, &name.key], moment)?;
    let is_end = |event| matches!(event, ExecutionEvent::Done | ExecutionEvent::Failed);
    history.sort_by_key(|moment| (moment.attempt, is_end(moment.event)));
    Ok(Some(ExecutionShown { execution, history }))
}

pub fn list(sql: &dyn Sql, filter: &ExecutionFilter) -> Result<Vec<ExecutionLine>> {
    list_since(sql, filter, None)
}

/// The same, and none that was begun before.
pub fn list_since(
    sql: &dyn Sql,
    filter: &ExecutionFilter,
    since: Option<Timestamp>,
) -> Result<Vec<ExecutionLine>> {
    let mut conditions = vec!["true".to_string()];
    let mut values: Vec<Param> = Vec::new();
    if let Some(namespace) = &filter.namespace {
        values.push(namespace.into());
        conditions.push(format!("namespace = ${}", values.len()));
    }
    if let Some(state) = filter.state {
        conditions.push(format!("state = '{state}'"));
    }
    if let Some((at, name)) = &filter.after {
        let n = values.len();
        values.extend([Param::from(*at), (&name.namespace).into(), (&name.key).into()]);
        conditions.push(format!("(created_at, namespace, key) < (${}, ${}, ${})", n + 1, n + 2, n + 3));
    }
    if let Some(since) = since {
        values.push(since.into());
        conditions.push(format!("created_at >= ${}", values.len()));
    }
    let text = format!(
        "select namespace, key, state, attempt, failed_attempts, max_attempts, lease_ends_at, substr(error, 1, 200), created_at,
                updated_at, keep_until
           from executions where {} order by created_at desc, namespace desc, key desc limit {}",
        conditions.join(" and "),
        filter.limit.clamp(1, limits::PAGE_ROWS_MAX + 1)
    );
    sql.rows(&text, &values, |row| {
        Ok(ExecutionLine {
            name: ExecutionName { namespace: row.get(0)?, key: row.get(1)? },
            state: word(row, 2, "executions", "state")?,
            attempt: row.get(3)?,
            failed_attempts: row.get(4)?,
            max_attempts: row.get(5)?,
            lease_ends_at: rows::time(row, 6)?,
            error: row.get(7)?,
            created_at: Timestamp(row.get(8)?),
            updated_at: Timestamp(row.get(9)?),
            keep_until: Timestamp(row.get(10)?),
        })
    })
}

/// How many executions would be forgotten.
pub fn forgettable(sql: &dyn Sql, made_before: Option<Timestamp>, now: Timestamp) -> Result<u64> {
    let column = if made_before.is_some() { "created_at" } else { "keep_until" };
    let text = format!(
        "select count(*) from executions where {column} <= $1 and (lease_ends_at is null or lease_ends_at <= $2)"
    );
    sql.value(&text, params![made_before.unwrap_or(now), now])
}

fn word<T: std::str::FromStr>(row: &Row, i: usize, table: &'static str, column: &'static str) -> Result<T> {
    let text = row.text(i)?;
    text.parse().map_err(|_| StoreError::Corrupt { table, column, value: text.into() })
}

fn corrupt(column: &'static str, value: impl ToString) -> StoreError {
    StoreError::Corrupt { table: "executions", column, value: value.to_string() }
}

fn execution(row: &Row) -> Result<Execution> {
    let hash: Vec<u8> = row.get(2)?;
    let state: ExecutionState = word(row, 3, "executions", "state")?;
    let (lease, answer, error) = (rows::time(row, 5)?, row.get(9)?, row.get(10)?);
    let standing = match (state, lease, answer, error) {
        (ExecutionState::InProgress, Some(lease_ends_at), None, None) => {
            Standing::InProgress { lease_ends_at }
        }
        (ExecutionState::Done, None, Some(answer), None) => Standing::Done { answer },
        (ExecutionState::Failed, None, None, Some(error)) => Standing::Failed { error },
        (state, ..) => return Err(corrupt("state", state)),
    };
    Ok(Execution {
        name: ExecutionName { namespace: row.get(0)?, key: row.get(1)? },
        input: InputHash(hash.try_into().map_err(|_| corrupt("input_hash", "another length"))?),
        standing,
        owner: OwnerToken::from_bytes(row.get(4)?),
        attempt: row.get(6)?,
        failed_attempts: row.get(7)?,
        max_attempts: row.get(8)?,
        created_at: Timestamp(row.get(11)?),
        updated_at: Timestamp(row.get(12)?),
        keep_until: Timestamp(row.get(13)?),
    })
}

fn moment(row: &Row) -> Result<ExecutionMoment> {
    Ok(ExecutionMoment {
        at: Timestamp(row.get(0)?),
        attempt: row.get(1)?,
        event: word(row, 2, "execution_events", "event")?,
        owner: OwnerToken::from_bytes(row.get(3)?),
        error: row.get(4)?,
    })
}
