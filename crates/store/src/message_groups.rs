//! Message groups on record: the lines on disk, and what holds a group back.

use crate::sql::{Row, Sql};
use crate::statements::{self, with_columns};
use crate::{Lease, Result, params, rows};
use model::{DispatchGroup, DispatchMode, GroupHold, Name, Step, StepId, Timestamp};
use rules::why::Ahead;
use std::collections::HashMap;

/// The front of a line; of a blocked one, those that may pass.
pub fn line(
    sql: &dyn Sql,
    home: &DispatchGroup,
    group: &str,
    blocked: bool,
    limit: usize,
) -> Result<Vec<Step>> {
    let text = if blocked { statements::LINE_PAST_ERRORS } else { statements::LINE };
    sql.rows(&with_columns(text), params![home.as_str(), group, limit], rows::step)
}

/// The first of each line, by the name of the group, behind a cursor.
pub fn heads(sql: &dyn Sql, home: &DispatchGroup, after: &str, limit: usize) -> Result<Vec<Step>> {
    sql.rows(&with_columns(statements::LINE_HEADS), params![home.as_str(), after, limit], rows::step)
}

/// What holds groups of these dispatch groups back.
pub fn holds(sql: &dyn Sql, lease: &Lease) -> Result<Vec<GroupHold>> {
    let text = "select message_group, blocked_by, at, by_whom, why from message_groups
                 where dispatch_group = $1 order by message_group, blocked_by";
    let mut holds = Vec::new();
    for (home, _) in &lease.groups {
        holds.extend(sql.rows(text, params![home.as_str()], hold)?);
    }
    Ok(holds)
}

/// What holds one group back.
pub fn holds_of(sql: &dyn Sql, group: &str) -> Result<Vec<GroupHold>> {
    let text = "select message_group, blocked_by, at, by_whom, why from message_groups
                 where message_group = $1 order by blocked_by";
    sql.rows(text, params![group], hold)
}

/// The step of a group that a worker has, by its own row or by the claim log.
pub fn in_flight(sql: &dyn Sql) -> Result<HashMap<Name, StepId>> {
    let text = "select message_group, id from steps
                 where mode is not null and parked = 0 and (state = 'dispatched' or state = 'running')
                union all
                select s.message_group, s.id from claimed c join steps s on s.id = c.step_id
                   and s.state = 'pending' and s.attempt + 1 = c.attempt and c.parked = 0 and s.mode is not null";
    let found = sql.rows(text, params![], |row| Ok((row.text(0)?.into(), StepId::from_bytes(row.get(1)?))))?;
    Ok(found.into_iter().collect())
}

/// What stands before a step in its message group.
pub fn ahead(sql: &dyn Sql, step: &Step, in_flight: &HashMap<Name, StepId>) -> Result<Option<Ahead>> {
    let Some(member) = step.line() else { return Ok(None) };
    let holds = holds_of(sql, &member.group)?;
    if let Some(pause) = holds.iter().find(|hold| hold.blocked_by.is_none()) {
        return Ok(Some(Ahead::Paused { by: pause.by.clone(), why: pause.why.clone() }));
    }
    if let Some(id) = in_flight.get(&member.group).filter(|id| **id != step.id) {
        return Ok(Some(Ahead::Step(*id)));
    }
    if step.attempt > 0 {
        return Ok(None);
    }
    let failed = holds.iter().find_map(|hold| hold.blocked_by);
    if let (Some(failed), DispatchMode::BlockOnError) = (failed, member.mode) {
        return Ok(Some(Ahead::Failed(failed)));
    }
    let first = line(sql, &step.dispatch_group, &member.group, failed.is_some(), 1)?;
    Ok(first.first().filter(|first| first.id != step.id).map(|first| Ahead::Step(first.id)))
}

fn hold(row: &Row) -> Result<GroupHold> {
    let by: Vec<u8> = row.get(1)?;
    Ok(GroupHold {
        group: row.text(0)?.into(),
        blocked_by: <[u8; 16]>::try_from(by.as_slice()).ok().map(StepId::from_bytes),
        at: Timestamp(row.get(2)?),
        by: row.get(3)?,
        why: row.get(4)?,
    })
}
