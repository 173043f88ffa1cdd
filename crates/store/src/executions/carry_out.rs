//! Carries out one order inside a transaction: insert first, look, let the rule decide, write what was seen.

use super::read::{self, find};
use super::{Beginning, Order, Told};
use crate::sql::Sql;
use crate::statements::{
    DELETE_EXECUTION, FORGET_EXECUTIONS, FORGET_OLD_EXECUTIONS, INSERT_EXECUTION, INSERT_EXECUTION_EVENT,
    WRITE_EXECUTION,
};
use crate::{Result, StoreError, flows, params};
use model::{Execution, ExecutionAsk, ExecutionEvent, Standing, Timestamp, limits};
use rules::idempotency::{self, Refusal, Verdict};

/// A record that changes this often between a look and a write is left to the next try.
const LOOKS_MAX: usize = 8;

pub fn carry_out(sql: &dyn Sql, order: &Order, now: Timestamp) -> Result<Told> {
    match order {
        Order::Begin(ask) => begin(sql, ask, now).map(Told::Beginning),
        Order::End { name, owner, how } => change(sql, name, |stored| {
            Ok(idempotency::end(stored, *owner, how.clone(), now)?.map(|next| (next, Some(event_of(how)))))
        })
        .map(|ended| ended.map_or_else(Told::Refused, |_| Told::Ended)),
        Order::Renew { name, owner, lease } => change(sql, name, |stored| {
            Ok(Some((idempotency::renew(stored, *owner, now + *lease, now)?, None)))
        })
        .map(|renewed| renewed.map_or_else(Told::Refused, |lease_ends_at| Told::Renewed { lease_ends_at })),
        Order::Forget { made_before } => forget(sql, *made_before, now),
        Order::CountForgotten { made_before } => {
            let executions = read::forgettable(sql, *made_before, now)?;
            Ok(Told::Forgotten { executions, more: false })
        }
        Order::Show(name) => Ok(Told::Shown(read::show(sql, name)?.map(Box::new))),
        Order::List(filter) => Ok(Told::Listed(read::list(sql, filter)?)),
        Order::Flow(order) => Ok(Told::Flow(flows::carry_out(sql, order, now)?)),
    }
}

fn begin(sql: &dyn Sql, ask: &ExecutionAsk, now: Timestamp) -> Result<Beginning> {
    let first = idempotency::first(ask, now);
    for _ in 0..LOOKS_MAX {
        if insert(sql, &first)? {
            tell(sql, &first, ExecutionEvent::Begun, now)?;
            return Ok(begun(&first));
        }
        let Some(stored) = find(sql, &ask.name)? else { continue };
        match idempotency::decide(&stored, ask, now) {
            Verdict::Begin(next, event) => {
                if write(sql, &stored, &next)? {
                    tell(sql, &next, event, now)?;
                    return Ok(begun(&next));
                }
            }
            Verdict::Anew => remove(sql, &stored)?,
            Verdict::Begun => return Ok(begun(&stored)),
            Verdict::Replay { answer } => return Ok(Beginning::Replay { answer }),
            Verdict::Wait { until } => return Ok(Beginning::Wait { until }),
            Verdict::Conflict => return Ok(Beginning::Conflict),
            Verdict::GivenUp { failures, error } => return Ok(Beginning::GivenUp { failures, error }),
        }
    }
    Err(restless(&ask.name))
}

fn begun(execution: &Execution) -> Beginning {
    Beginning::Begun { attempt: execution.attempt, lease_ends_at: lease_of(execution) }
}

fn lease_of(execution: &Execution) -> Timestamp {
    match execution.standing {
        Standing::InProgress { lease_ends_at } => lease_ends_at,
        _ => execution.updated_at,
    }
}

fn event_of(how: &Standing) -> ExecutionEvent {
    match how {
        Standing::InProgress { .. } => ExecutionEvent::Begun,
        Standing::Done { .. } => ExecutionEvent::Done,
        Standing::Failed { .. } => ExecutionEvent::Failed,
    }
}

type Decided = std::result::Result<Option<(Execution, Option<ExecutionEvent>)>, Refusal>;

/// Look, decide, write what was seen; when its lease ends then.
fn change(
    sql: &dyn Sql,
    name: &model::ExecutionName,
    decide: impl Fn(Option<&Execution>) -> Decided,
) -> Result<std::result::Result<Timestamp, Refusal>> {
    for _ in 0..LOOKS_MAX {
        let stored = find(sql, name)?;
        let (next, event) = match decide(stored.as_ref()) {
            Err(refusal) => return Ok(Err(refusal)),
            Ok(None) => return Ok(Ok(stored.as_ref().map_or(Timestamp(0), lease_of))),
            Ok(Some(next)) => next,
        };
        if let Some(stored) = &stored
            && write(sql, stored, &next)?
        {
            if let Some(event) = event {
                tell(sql, &next, event, next.updated_at)?;
            }
            return Ok(Ok(lease_of(&next)));
        }
    }
    Err(restless(name))
}

fn restless(name: &model::ExecutionName) -> StoreError {
    StoreError::Busy(format!("execution {name} changed every time it was looked at"))
}

fn insert(sql: &dyn Sql, e: &Execution) -> Result<bool> {
    let (namespace, key) = (&e.name.namespace, &e.name.key);
    let values = params![
        namespace,
        key,
        e.input.0.as_slice(),
        e.owner,
        lease_of(e),
        e.max_attempts,
        e.created_at,
        e.updated_at,
        e.keep_until
    ];
    Ok(sql.execute(INSERT_EXECUTION, values)? == 1)
}

fn write(sql: &dyn Sql, seen: &Execution, next: &Execution) -> Result<bool> {
    let (lease, answer, error) = match &next.standing {
        Standing::InProgress { lease_ends_at } => (Some(*lease_ends_at), None, None),
        Standing::Done { answer } => (None, Some(answer.as_str()), None),
        Standing::Failed { error } => (None, None, Some(error.as_str())),
    };
    let values = params![
        next.standing.state().word(),
        next.owner,
        lease,
        next.attempt,
        next.failed_attempts,
        next.max_attempts,
        answer,
        error,
        next.updated_at,
        next.keep_until,
        &seen.name.namespace,
        &seen.name.key,
        seen.owner,
        seen.attempt,
        seen.standing.state().word(),
        seen.updated_at
    ];
    Ok(sql.execute(WRITE_EXECUTION, values)? == 1)
}

fn remove(sql: &dyn Sql, seen: &Execution) -> Result<()> {
    let (name, state) = (&seen.name, seen.standing.state().word());
    let values = params![&name.namespace, &name.key, seen.owner, seen.attempt, state, seen.updated_at];
    // If it has changed meanwhile, the next look sees it.
    sql.execute(DELETE_EXECUTION, values)?;
    Ok(())
}

fn tell(sql: &dyn Sql, e: &Execution, event: ExecutionEvent, at: Timestamp) -> Result<()> {
    let error = match &e.standing {
        Standing::Failed { error } => Some(error.as_str()),
        _ => None,
    };
    let values = params![&e.name.namespace, &e.name.key, e.attempt, event.word(), at, e.owner, error];
    sql.execute(INSERT_EXECUTION_EVENT, values)?;
    Ok(())
}

fn forget(sql: &dyn Sql, made_before: Option<Timestamp>, now: Timestamp) -> Result<Told> {
    let page = limits::EXECUTIONS_FORGOTTEN_PAGE;
    let executions = match made_before {
        Some(before) => sql.execute(FORGET_OLD_EXECUTIONS, params![before, now, page])?,
        None => sql.execute(FORGET_EXECUTIONS, params![now, now, page])?,
    };
    Ok(Told::Forgotten { executions, more: executions >= page as u64 })
}
