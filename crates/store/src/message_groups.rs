//! Message groups on record: the lines on disk, and what holds a group back.

use crate::sql::{Param, Row, Sql};
use crate::statements::{self, with_columns};
use crate::{Browse, Lease, Result, StepRow, params, rows};
use model::{DispatchGroup, DispatchMode, GroupHold, Name, Step, StepId, Timestamp, limits};
use rules::fifo;
use rules::why::Ahead;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

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

/// Steps that ended and still stand in the index of their line, each with its version: some of them.
pub fn ended_in_line(sql: &dyn Sql) -> Result<Vec<(StepId, u64)>> {
    let text = "select id, version from steps where joined > 0 and state in ('completed', 'skipped', 'cancelled', 'failed',
                  'stopped', 'timed_out', 'superseded') limit 10000";
    sql.rows(text, params![], |row| Ok((StepId::from_bytes(row.get(0)?), row.get::<i64>(1)?.unsigned_abs())))
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
    let found =
        sql.rows(text, params![], |row| Ok((row.text(0)?.into(), StepId::from_bytes(row.get(1)?))))?;
    Ok(found.into_iter().collect())
}

fn mode(sql: &dyn Sql, id: StepId) -> Result<Option<DispatchMode>> {
    let word = sql.first("select mode from steps where id = $1", params![id], |row| row.get(0))?;
    Ok(word.and_then(|word: Option<String>| word?.parse().ok()))
}

/// Message groups, with what holds each back and who is first in its line: read for many steps at once, in place of two journeys for each.
#[derive(Debug, Default)]
pub struct Fronts(HashMap<Name, Front>);

#[derive(Debug, Default)]
struct Front {
    holds: Vec<GroupHold>,
    first: Option<StepId>,
}

/// Message groups that are asked about at once.
const FRONTS_AT_ONCE: usize = 50;

impl Fronts {
    pub fn of<'a>(sql: &dyn Sql, steps: impl Iterator<Item = &'a Step>) -> Result<Fronts> {
        let lines: BTreeSet<(&str, &Name)> = steps
            .filter_map(|step| step.line().map(|member| (step.dispatch_group.as_str(), &member.group)))
            .collect();
        let lines: Vec<(&str, &Name)> = lines.into_iter().collect();
        let mut fronts: HashMap<Name, Front> =
            lines.iter().map(|(_, group)| ((*group).clone(), Front::default())).collect();
        let place = |n: usize| format!("(cast(${} as text), cast(${} as text))", n * 2 + 1, n * 2 + 2);
        let places: Vec<String> = (0..FRONTS_AT_ONCE).map(place).collect();
        let text =
            format!("with line (home, name) as (values {}) {}", places.join(", "), statements::LINE_FRONTS);
        for page in lines.chunks(FRONTS_AT_ONCE) {
            // Always as many, so that it is one statement however many they are.
            let padded = page.iter().chain(std::iter::repeat(&page[0])).take(FRONTS_AT_ONCE);
            let values: Vec<Param> =
                padded.flat_map(|(home, group)| [Param::from(*home), Param::from(&***group)]).collect();
            let found = sql.rows(&text, &values, |row| {
                let first: Option<[u8; 16]> = row.get(1)?;
                let held: Option<i64> = row.get(3)?;
                let hold = held.map(|_| hold_from(row, 2)).transpose()?;
                Ok((Name::from(row.text(0)?), first.map(StepId::from_bytes), hold))
            })?;
            for (group, first, hold) in found {
                let front = fronts.entry(group).or_default();
                front.first = first;
                front.holds.extend(hold.filter(|hold| !front.holds.contains(hold)));
            }
        }
        Ok(Fronts(fronts))
    }
}

/// What stands before a step in its message group.
pub fn ahead(
    sql: &dyn Sql,
    step: &Step,
    in_flight: &HashMap<Name, StepId>,
    fronts: &Fronts,
) -> Result<Option<Ahead>> {
    let Some(member) = step.line() else { return Ok(None) };
    let front = fronts.0.get(&member.group);
    let holds = match front {
        Some(front) => Cow::Borrowed(front.holds.as_slice()),
        None => Cow::Owned(holds_of(sql, &member.group)?),
    };
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
    let first = match front {
        Some(front) if failed.is_none() => front.first,
        _ => {
            let first = line(sql, &step.dispatch_group, &member.group, failed.is_some(), 1)?;
            first.first().map(|step| step.id)
        }
    };
    Ok(first.filter(|first| *first != step.id).map(Ahead::Step))
}

fn hold(row: &Row) -> Result<GroupHold> {
    hold_from(row, 1)
}

/// Its group is told first, and the rest from a column on.
fn hold_from(row: &Row, column: usize) -> Result<GroupHold> {
    let by: Vec<u8> = row.get(column)?;
    Ok(GroupHold {
        group: row.text(0)?.into(),
        blocked_by: <[u8; 16]>::try_from(by.as_slice()).ok().map(StepId::from_bytes),
        at: Timestamp(row.get(column + 1)?),
        by: row.get(column + 2)?,
        why: row.get(column + 3)?,
    })
}

/// A message group that has something to do, or is held back.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageGroup {
    pub name: Name,
    pub home: DispatchGroup,
    /// Steps in line, counted up to a thousand.
    pub waiting: usize,
    /// Whoever has the group or comes next.
    pub head: Option<StepId>,
    pub in_flight: bool,
    /// Of the head; each step has its own.
    pub mode: Option<DispatchMode>,
    pub holds: Vec<GroupHold>,
}

const COUNTED: usize = 1_000;

/// What holds a message group back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// A step of it that failed.
    Blocked,
    /// A person.
    Paused,
}

impl Held {
    pub const ALL: [Held; 2] = [Held::Blocked, Held::Paused];

    pub fn word(self) -> &'static str {
        match self {
            Held::Blocked => "blocked",
            Held::Paused => "paused",
        }
    }

    fn condition(self) -> &'static str {
        match self {
            Held::Blocked => "length(blocked_by) > 0",
            Held::Paused => "length(blocked_by) = 0",
        }
    }

    pub fn holds(self, group: &MessageGroup) -> bool {
        group.holds.iter().any(|hold| hold.blocked_by.is_some() == (self == Held::Blocked))
    }
}

impl Browse {
    /// How many steps block message groups, and how many groups a person paused.
    pub fn held_message_groups(&self) -> Result<(i64, i64)> {
        let text = format!(
            "select sum(case when length(blocked_by) = 0 then 0 else 1 end), count(*)
               from (select blocked_by from message_groups limit {}) as held",
            limits::COUNTED_MAX
        );
        let counted = self.sql().rows(&text, params![], |row| {
            let (blocked, held): (Option<i64>, i64) = (row.get(0)?, row.get(1)?);
            Ok((blocked.unwrap_or(0), held - blocked.unwrap_or(0)))
        })?;
        Ok(counted.first().copied().unwrap_or_default())
    }
    /// By name, behind a cursor.
    pub fn message_groups(&self, after: &str, limit: usize) -> Result<Vec<MessageGroup>> {
        let sql = self.sql();
        let in_flight = in_flight(sql)?;
        let mut names: BTreeSet<Name> = in_flight.keys().filter(|name| &***name > after).cloned().collect();
        let held =
            "select distinct message_group from message_groups where message_group > $1 order by 1 limit $2";
        names.extend(sql.rows(held, params![after, limit], |row| Ok(row.text(0)?.into()))?);
        for group in self.groups()? {
            let heads = heads(sql, &group.dispatch_group, after, limit)?;
            names.extend(heads.iter().filter_map(|step| step.line().map(|member| member.group.clone())));
        }
        let found = names.iter().take(limit).map(|name| self.group_named(name, &in_flight));
        Ok(found.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Those that are held back like this, by name, behind a cursor: only what is held back is looked through.
    pub fn message_groups_held(&self, held: Held, after: &str, limit: usize) -> Result<Vec<MessageGroup>> {
        let sql = self.sql();
        let text = format!(
            "select distinct message_group from message_groups where message_group > $1 and {} order by 1 limit $2",
            held.condition()
        );
        let names: Vec<Name> = sql.rows(&text, params![after, limit], |row| Ok(row.text(0)?.into()))?;
        let in_flight = in_flight(sql)?;
        let found = names.iter().map(|name| self.group_named(name, &in_flight));
        Ok(found
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .filter(|group| held.holds(group))
            .collect())
    }

    /// None if it has nothing to do and is not held back.
    pub fn message_group(&self, name: &str) -> Result<Option<MessageGroup>> {
        self.group_named(&name.into(), &in_flight(self.sql())?)
    }

    /// The front of its line, the first one first.
    pub fn line(&self, group: &MessageGroup, limit: usize) -> Result<Vec<StepRow>> {
        let mut ids: Vec<StepId> = group.head.into_iter().collect();
        let page = line(self.sql(), &group.home, &group.name, false, limit)?;
        ids.extend(page.iter().map(|step| step.id).filter(|id| Some(*id) != group.head));
        let rows = ids.into_iter().take(limit).map(|id| self.step(id));
        Ok(rows.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    fn group_named(&self, name: &Name, in_flight: &HashMap<Name, StepId>) -> Result<Option<MessageGroup>> {
        let sql = self.sql();
        let groups: Vec<DispatchGroup> = self.groups()?.into_iter().map(|g| g.dispatch_group).collect();
        if groups.is_empty() {
            return Ok(None);
        }
        let home = fifo::home(name, &groups);
        let holds = holds_of(sql, name)?;
        let counted =
            "select count(*) from (select 1 from steps where dispatch_group = $1 and message_group = $2
                          and state in ('pending', 'polling') and joined > 0 limit $3) as line";
        let waiting: usize = sql.value(counted, params![home.as_str(), &**name, COUNTED])?;
        let flies = in_flight.get(name).copied();
        let first = match flies {
            Some(_) => flies,
            None => line(sql, &home, name, false, 1)?.first().map(|step| step.id),
        };
        let idle = first.is_none() && holds.is_empty();
        let mode = first.map(|id| mode(sql, id)).transpose()?.flatten();
        let group = || MessageGroup {
            name: name.clone(),
            home,
            waiting,
            head: first,
            in_flight: flies.is_some(),
            mode,
            holds,
        };
        Ok((!idle).then(group))
    }
}
