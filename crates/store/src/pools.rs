//! Pools on record: what they allow, who has a slot, and how nodes that share them take one.

use crate::batch::Slot;
use crate::sql::{Access, Row, Sql, packed};
use crate::{Lease, Result, StoreError, params, rows, statements};
use model::{DispatchGroup, Name, NodeId, Pool, PoolUse, Priority, Rate, StepId, Timestamp, limits};
use std::collections::BTreeMap;
use std::time::Duration;

/// A sort of ready steps that stand alone: what one cursor reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sort {
    pub dispatch_group: DispatchGroup,
    pub queue: Name,
    pub priority: Priority,
    pub pool: Option<Name>,
}

/// What came of asking for slots of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Reserved {
    /// The first of the steps that were asked for; none where there is no such pool.
    pub granted: usize,
    pub pool: Option<PoolUse>,
    /// Slots of it in groups of other nodes.
    pub elsewhere: usize,
    /// Another node waits for a slot.
    pub wanted: bool,
}

/// Every pool, by name.
pub fn all(sql: &dyn Sql) -> Result<Vec<PoolUse>> {
    sql.rows(statements::POOLS, params![], pool_use)
}

fn pool_use(row: &Row) -> Result<PoolUse> {
    let rate = match (row.get::<Option<u32>>(2)?, row.get::<Option<i64>>(3)?, row.get::<Option<u32>>(4)?) {
        (Some(starts), Some(per), Some(burst)) => {
            Some(Rate { starts, per: Duration::from_micros(per.unsigned_abs()), burst })
        }
        _ => None,
    };
    Ok(PoolUse {
        pool: Pool { name: rows::shared(row, 0)?, concurrency: row.get(1)?, rate },
        full_until: Timestamp(row.get(5)?),
        used: row.get(6)?,
    })
}

pub fn put(sql: &dyn Sql, pool: &Pool) -> Result<u64> {
    let (starts, per, burst) = columns(pool.rate);
    sql.execute(statements::PUT_POOL, params![&*pool.name, pool.concurrency, starts, per, burst])
}

/// Unless it is not what was seen.
pub fn set(sql: &dyn Sql, pool: &Pool, seen: &Pool) -> Result<u64> {
    let ((starts, per, burst), (starts_seen, per_seen, burst_seen)) =
        (columns(pool.rate), columns(seen.rate));
    let (new, old) = (pool.concurrency, seen.concurrency);
    let values = params![&*pool.name, new, starts, per, burst, old, starts_seen, per_seen, burst_seen];
    sql.execute(statements::SET_POOL, values)
}

pub fn remove(sql: &dyn Sql, seen: &Pool) -> Result<u64> {
    let (starts, per, burst) = columns(seen.rate);
    sql.execute(statements::REMOVE_POOL, params![&*seen.name, seen.concurrency, starts, per, burst])
}

fn columns(rate: Option<Rate>) -> (Option<u32>, Option<i64>, Option<u32>) {
    let per = rate.map(|r| i64::try_from(r.per.as_micros()).unwrap_or(i64::MAX));
    (rate.map(|r| r.starts), per, rate.map(|r| r.burst))
}

/// Which sorts of ready steps wait for a pool.
pub fn sorts(sql: &dyn Sql) -> Result<Vec<Sort>> {
    sql.rows(statements::POOLED_SORTS, params![], |row| {
        Ok(Sort {
            pool: Some(rows::shared(row, 0)?),
            dispatch_group: DispatchGroup(rows::shared(row, 1)?),
            queue: rows::shared(row, 2)?,
            priority: priority(row, 3)?,
        })
    })
}

pub(crate) fn priority(row: &Row, column: usize) -> Result<Priority> {
    let word = row.text(column)?;
    word.parse().map_err(|_| StoreError::Corrupt { table: "steps", column: "priority", value: word.into() })
}

/// How many slots of each pool the steps of each dispatch group have.
pub fn taken(sql: &dyn Sql) -> Result<Vec<(Name, DispatchGroup, usize)>> {
    sql.rows("select pool, dispatch_group, count(*) from pool_slots group by 1, 2", params![], |row| {
        Ok((rows::shared(row, 0)?, DispatchGroup(rows::shared(row, 1)?), row.get(2)?))
    })
}

/// Slots on record for steps of these groups.
pub fn slots(sql: &dyn Sql, lease: &Lease) -> Result<Vec<Slot>> {
    let all = sql.rows("select step_id, pool, dispatch_group from pool_slots", params![], |row| {
        Ok(Slot {
            step: StepId::from_bytes(row.get(0)?),
            pool: rows::shared(row, 1)?,
            dispatch_group: DispatchGroup(rows::shared(row, 2)?),
        })
    })?;
    Ok(all.into_iter().filter(|slot| lease.groups.iter().any(|(g, _)| *g == slot.dispatch_group)).collect())
}

/// Slots for steps that are about to be claimed, the first ones first, as far as their pools allow.
///
/// Why    nodes decide side by side. The row of a pool is locked before its slots are counted, so two nodes never take the last
///        one; and what is taken is on record before the claim, so that the claim itself cannot lose. If the claim is not
///        stored, the owner of the group finds a slot that no step has and gives it back.
pub fn reserve(
    sql: &dyn Sql,
    lease: &Lease,
    wants: &BTreeMap<Name, Vec<Slot>>,
    now: Timestamp,
) -> Result<BTreeMap<Name, Reserved>> {
    sql.transaction(Access::Write, |sql| {
        // A slot that a crash takes away goes with its claim, which is stored later.
        sql.execute("set local synchronous_commit = off", params![])?;
        wants.iter().map(|(pool, slots)| Ok((pool.clone(), one(sql, lease, (pool, slots), now)?))).collect()
    })
}

fn one(sql: &dyn Sql, lease: &Lease, (name, slots): (&Name, &[Slot]), now: Timestamp) -> Result<Reserved> {
    let node = lease.node;
    let lock = "select name, concurrency, rate_starts, rate_per, rate_burst, full_until, 0::bigint
                  from pools where name = $1 for update";
    let Some(mut pool) = sql.first(lock, params![&**name], pool_use)? else {
        return Ok(Reserved { granted: 0, pool: None, elsewhere: 0, wanted: false });
    };
    // Counted by a statement of its own: it has to see what others stored before the row was free.
    let count = "select dispatch_group, count(*) from pool_slots where pool = $1 group by 1";
    let taken: Vec<(DispatchGroup, usize)> =
        sql.rows(count, params![&**name], |row| Ok((DispatchGroup(rows::shared(row, 0)?), row.get(1)?)))?;
    let mine = |group: &DispatchGroup| lease.groups.iter().any(|(g, _)| g == group);
    let elsewhere = taken.iter().filter(|(group, _)| !mine(group)).map(|(_, n)| n).sum();
    pool.used = taken.iter().map(|(_, n)| n).sum();
    let waits = waits(sql, name, now)?;
    let mine = waits.get(&node).copied();
    let earlier = waits.iter().filter(|(n, since)| **n != node && mine.is_none_or(|m| **since < m)).count();
    let granted = slots.len().min(rules::pool::allowed(&pool, now).saturating_sub(earlier));
    let mut by_group: BTreeMap<&DispatchGroup, Vec<[u8; 16]>> = BTreeMap::new();
    for slot in &slots[..granted] {
        by_group.entry(&slot.dispatch_group).or_default().push(*slot.step.bytes());
    }
    for (group, steps) in by_group {
        let take = "insert into pool_slots (step_id, pool, dispatch_group, at)
                    select substr($1::bytea, at, 16), $2, $3, $4 from generate_series(1, length($1::bytea), 16) as at
                    on conflict (step_id) do nothing";
        sql.execute(take, params![packed(&steps), &**name, group.as_str(), now])?;
    }
    pool.used += granted;
    let before = pool.full_until;
    pool.full_until = rules::pool::after(&pool.pool, before, now, granted);
    if pool.full_until != before {
        sql.execute("update pools set full_until = $1 where name = $2", params![pool.full_until, &**name])?;
    }
    if granted < slots.len() {
        // Who got something goes to the end of the queue.
        let since = mine.filter(|_| granted == 0).unwrap_or(now);
        let wait = "insert into pool_waits (pool, node_id, since, seen_at) values ($1, $2, $3, $4)
                    on conflict (pool, node_id) do update set since = excluded.since, seen_at = excluded.seen_at";
        sql.execute(wait, params![&**name, node, since, now])?;
        let gone = "delete from pool_waits where pool = $1 and seen_at < $2";
        sql.execute(gone, params![&**name, now - 60 * limits::POOL_KEPT_FOR])?;
    } else if mine.is_some() {
        sql.execute("delete from pool_waits where pool = $1 and node_id = $2", params![&**name, node])?;
    }
    Ok(Reserved { granted, pool: Some(pool), elsewhere, wanted: waits.keys().any(|n| *n != node) })
}

/// Nodes that wait for a slot, and since when; one that does not ask again has found something else to do.
fn waits(sql: &dyn Sql, name: &Name, now: Timestamp) -> Result<BTreeMap<NodeId, Timestamp>> {
    let text = "select node_id, since from pool_waits where pool = $1 and seen_at > $2";
    let found = sql.rows(text, params![&**name, now - limits::POOL_KEPT_FOR], |row| {
        Ok((NodeId::from_bytes(row.get(0)?), Timestamp(row.get(1)?)))
    })?;
    Ok(found.into_iter().collect())
}
