//! Carries out one order inside a transaction: insert first, look, let the rule decide, write what was seen.

use super::read::{self, find};
use super::{Beginning, Order, Told};
use crate::sql::Sql;
use crate::statements::{
    DELETE_EXECUTION, FORGET_EXECUTIONS, FORGET_OLD_EXECUTIONS, INSERT_EXECUTION, INSERT_EXECUTION_EVENT,
    WRITE_EXECUTION,
};
use crate::{Asked, AuditEntry, Result, StoreError, flows, params};
use model::{Execution, ExecutionAsk, ExecutionEvent, Standing, Timestamp, limits};
use rules::idempotency::{self, Refusal, Verdict};

/// A record that changes this often between a look and a write is left to the next try.
const LOOKS_MAX: usize = 8;

/// What became of it, and what is put on record of it: that goes last of all in the transaction.
pub fn carry_out(sql: &dyn Sql, order: &Order, now: Timestamp) -> Result<(Told, Option<AuditEntry>)> {
    match order {
        Order::Forget { made_before, asked } => {
            let executions = forget(sql, *made_before, now)?;
            let more = executions >= limits::EXECUTIONS_FORGOTTEN_PAGE as u64;
            let entry = asked.as_ref().filter(|_| executions > 0);
            let entry = entry.map(|asked| forgotten(executions, *made_before, asked));
            Ok((Told::Forgotten { executions, more }, entry))
        }
        Order::Flow(order) => {
            let (told, entry) = flows::carry_out(sql, order, now)?;
            Ok((Told::Flow(told), entry))
        }
        // What callers do all the time is its own record.
        Order::Begin(ask) => begin(sql, ask, now).map(|begun| (Told::Beginning(begun), None)),
        Order::End { name, owner, how } => {
            let ended = change(sql, name, |stored| {
                let next = idempotency::end(stored, *owner, how.clone(), now)?;
                Ok(next.map(|next| (next, Some(event_of(how)))))
            })?;
            Ok((ended.map_or_else(Told::Refused, |_| Told::Ended), None))
        }
        Order::Renew { name, owner, lease } => {
            let renewed = change(sql, name, |stored| {
                Ok(Some((idempotency::renew(stored, *owner, now + *lease, now)?, None)))
            })?;
            let told = renewed.map_or_else(Told::Refused, |lease_ends_at| Told::Renewed { lease_ends_at });
            Ok((told, None))
        }
        Order::CountForgotten { made_before } => {
            let executions = read::forgettable(sql, *made_before, now)?;
            Ok((Told::Forgotten { executions, more: false }, None))
        }
        Order::Show(name) => Ok((Told::Shown(read::show(sql, name)?.map(Box::new)), None)),
        Order::List(filter) => Ok((Told::Listed(read::list(sql, filter)?), None)),
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

/// How many went with this page.
fn forget(sql: &dyn Sql, made_before: Option<Timestamp>, now: Timestamp) -> Result<u64> {
    let page = limits::EXECUTIONS_FORGOTTEN_PAGE;
    match made_before {
        Some(before) => sql.execute(FORGET_OLD_EXECUTIONS, params![before, now, page]),
        None => sql.execute(FORGET_EXECUTIONS, params![now, now, page]),
    }
}

fn forgotten(executions: u64, made_before: Option<Timestamp>, asked: &Asked) -> AuditEntry {
    let which = if made_before.is_some() { "begun long ago" } else { "kept long enough" };
    AuditEntry {
        who: asked.who.clone(),
        verb: "forget executions".into(),
        target: format!("{executions} executions {which}"),
        why: asked.why.clone(),
        before: Some("on record".into()),
        after: Some("gone".into()),
    }
}
