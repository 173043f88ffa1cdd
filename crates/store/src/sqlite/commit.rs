//! Carries out one batch in one transaction: verify, write each row once, commit.

use super::{rows, statements as sql, steps};
use crate::batch::{Alert, Attempt, AuditEntry, ClaimLog, GroupWrite, SessionRow};
use crate::{Batch, BlockWrite, Result, StoreError, Tick};
use model::{Block, Breaker, Timestamp};
use rusqlite::{CachedStatement, Connection, OptionalExtension, TransactionBehavior, params};

pub fn commit(connection: &mut Connection, batch: &Batch) -> Result<()> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    verify(&tx, batch)?;
    steps::write(&tx, &batch.steps)?;
    write_blocks(&tx, &batch.blocks)?;
    write_claims(&tx, batch)?;
    for (key, delta) in batch.tallies.iter().filter(|(_, delta)| *delta != 0) {
        tx.prepare_cached(sql::ADD_TALLY)?.execute(params![
            key.dispatch_group.as_str(),
            &*key.queue,
            &*key.action,
            key.host.as_deref().unwrap_or_default(),
            key.state.word(),
            key.leaf,
            key.throttled,
            delta
        ])?;
    }
    write_history(&tx, batch)?;
    write_people(&tx, batch)?;
    batch.groups.iter().try_for_each(|g| write_group(&tx, g))?;
    tx.commit()?;
    Ok(())
}

/// The leases are still ours, and the breaker still lets work out.
fn verify(tx: &Connection, batch: &Batch) -> Result<()> {
    let mut held =
        tx.prepare_cached("select dispatch_group, epoch, breaker from dispatch_groups where owner_id = ?1")?;
    let mut found = held.query([batch.lease.node.bytes()])?;
    let mut owned = 0;
    while let Some(row) = found.next()? {
        let group = row.get_ref(0)?.as_str().map_err(|e| StoreError::Down(e.to_string()))?;
        let epoch = row.get::<_, i64>(1)?.unsigned_abs();
        owned += usize::from(batch.lease.groups.iter().any(|(g, e)| g.as_str() == group && *e == epoch));
        let dispatching = batch.dispatching.iter().any(|g| g.as_str() == group);
        if dispatching && read_breaker(&row.get::<_, String>(2)?)?.is_off(batch.now) {
            return Err(StoreError::Lost { what: format!("the breaker of dispatch group `{group}`") });
        }
    }
    if owned < batch.lease.groups.len() {
        return Err(StoreError::Lost { what: "the lease of a dispatch group".into() });
    }
    if !batch.dispatching.is_empty() && global_breaker(tx)?.is_off(batch.now) {
        return Err(StoreError::Lost { what: "the breaker".into() });
    }
    Ok(())
}

pub fn read_breaker(text: &str) -> Result<Breaker> {
    serde_json::from_str(text).map_err(|_| StoreError::Corrupt {
        table: "dispatch_groups",
        column: "breaker",
        value: text.into(),
    })
}

pub fn global_breaker(connection: &Connection) -> Result<Breaker> {
    let mut statement = connection.prepare_cached("select value from settings where name = 'breaker'")?;
    let text: Option<String> = statement.query_row([], |r| r.get(0)).optional()?;
    text.map_or(Ok(Breaker::default()), |text| read_breaker(&text))
}

pub fn micros(t: Option<Timestamp>) -> Option<i64> {
    t.map(|t| t.0)
}

fn write_blocks(tx: &Connection, blocks: &[BlockWrite]) -> Result<()> {
    let mut count = tx.prepare_cached(sql::COUNT_BLOCK)?;
    let mut whole = tx.prepare_cached(sql::WRITE_BLOCK)?;
    let mut new = tx.prepare_cached(sql::INSERT_BLOCK)?;
    for BlockWrite { block, expected, only_counts } in blocks {
        let changed = match expected {
            None => insert_block(&mut new, block)?,
            Some(expected) if *only_counts => count.execute(params![
                rows::counts_text(&block.steps),
                rows::join(block.live.iter().copied()),
                block.current_index,
                block.touched,
                is_open(block),
                block.id.bytes(),
                *expected as i64
            ])?,
            Some(expected) => whole_block(&mut whole, block, *expected)?,
        };
        if changed != 1 {
            return Err(StoreError::Lost { what: format!("block {}", block.id) });
        }
    }
    Ok(())
}

fn blame_text(block: &Block) -> String {
    block.blame.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn insert_block(statement: &mut CachedStatement, b: &Block) -> Result<usize> {
    let after = b.sweep.and_then(|s| s.after);
    Ok(statement.execute(params![
        b.id.bytes(),
        b.owner.as_ref().map(|o| o.bytes()),
        b.home.as_str(),
        b.success.to_string(),
        b.depth,
        rows::counts_text(&b.steps),
        rows::counts_text(&b.resolvers),
        rows::join(b.live.iter().copied()),
        rows::join(b.live_resolvers.iter().copied()),
        b.current_index,
        b.resolver_index,
        b.cut_at,
        b.resolver_cut_at,
        b.wants_resolvers,
        blame_text(b),
        b.sweep.map(|s| s.kind.word()),
        b.sweep.map(|s| s.event.word()),
        b.sweep.map(|s| s.above),
        after.map(|a| a.0),
        after.as_ref().map(|a| a.1.bytes()),
        b.touched,
        is_open(b)
    ])?)
}

fn whole_block(statement: &mut CachedStatement, b: &Block, expected: u64) -> Result<usize> {
    let after = b.sweep.and_then(|s| s.after);
    Ok(statement.execute(params![
        rows::counts_text(&b.steps),
        rows::counts_text(&b.resolvers),
        rows::join(b.live.iter().copied()),
        rows::join(b.live_resolvers.iter().copied()),
        b.current_index,
        b.resolver_index,
        b.cut_at,
        b.resolver_cut_at,
        b.wants_resolvers,
        blame_text(b),
        b.sweep.map(|s| s.kind.word()),
        b.sweep.map(|s| s.event.word()),
        b.sweep.map(|s| s.above),
        after.map(|a| a.0),
        after.as_ref().map(|a| a.1.bytes()),
        b.touched,
        is_open(b),
        b.id.bytes(),
        expected as i64
    ])?)
}

/// Rules may still have to look at it.
fn is_open(block: &Block) -> bool {
    block.steps.hot + block.resolvers.hot > 0 || block.touched || block.sweep.is_some()
}

fn write_claims(tx: &Connection, batch: &Batch) -> Result<()> {
    let mut insert = tx.prepare_cached(
        "insert into claims (id, session_id, tick_id, claimed_at, parked, pairs) values (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for ClaimLog { id, session, tick, at, parked, pairs, .. } in &batch.claims {
        let mut text = String::with_capacity(pairs.len() * 38 + 2);
        for (step, attempt) in pairs {
            text += if text.is_empty() { "[\"" } else { ",\"" };
            text += step.0.as_simple().encode_lower(&mut [0; 32]);
            text.push(':');
            text += &attempt.to_string();
            text.push('"');
        }
        text.push(']');
        insert.execute(params![id, session.bytes(), tick, at.0, parked, text])?;
    }
    let mut delete = tx.prepare_cached("delete from claims where id = ?1")?;
    for id in &batch.claims_done {
        delete.execute([id])?;
    }
    Ok(())
}

fn write_history(tx: &Connection, batch: &Batch) -> Result<()> {
    for Attempt { step, attempt, at, session, host, started_at, outcome, message } in &batch.attempts {
        tx.prepare_cached(
            "insert or ignore into step_attempts (step_id, attempt, at, session_id, host, started_at, outcome, message)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            step.bytes(), attempt, at.0, session.as_ref().map(|s| s.bytes()), host.as_deref(), micros(*started_at), outcome,
            message
        ])?;
    }
    for e in &batch.events {
        tx.prepare_cached(
            "insert into events (at, entity, entity_id, from_state, event, to_state, attempt)
             values (?1, 'step', ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            batch.now.0,
            e.step.bytes(),
            e.from.map(|s| s.word()),
            e.event.map(|x| x.word()),
            e.to.word(),
            e.attempt
        ])?;
    }
    for Tick {
        id,
        dispatch_group,
        started_at,
        completed_at,
        duration_us,
        turns,
        progress,
        steps_dispatched,
        capped,
        left_over,
        phases,
    } in &batch.ticks
    {
        let phases = serde_json::to_string(phases).unwrap_or_default();
        tx.prepare_cached(
            "insert into ticks (id, dispatch_group, started_at, completed_at, duration_us, turns, progress,
             steps_dispatched, capped, left_over, phases) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            id, dispatch_group.as_str(), started_at.0, completed_at.0, *duration_us as i64, *turns as i64,
            *progress as i64, *steps_dispatched as i64, *capped as i64, *left_over as i64, phases
        ])?;
    }
    Ok(())
}

fn write_people(tx: &Connection, batch: &Batch) -> Result<()> {
    let now = batch.now.0;
    for AuditEntry { who, verb, target, why, before, after } in &batch.audit {
        tx.prepare_cached(
            "insert into audit (at, who, verb, target, why, before, after) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![now, who, verb, target, why, before, after])?;
    }
    for Alert { entity, entity_id, reason, severity, message, open } in &batch.alerts {
        if *open {
            tx.prepare_cached(
                "insert into alerts (entity, entity_id, reason, severity, message, opened_at, updated_at)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?6)
                 on conflict (entity, entity_id, reason) where closed_at is null
                 do update set message = excluded.message, updated_at = excluded.updated_at",
            )?
            .execute(params![entity, entity_id, reason, severity, message, now])?;
        } else {
            tx.prepare_cached(
                "update alerts set closed_at = ?4 where entity = ?1 and entity_id = ?2 and reason = ?3
                 and closed_at is null",
            )?
            .execute(params![entity, entity_id, reason, now])?;
        }
    }
    batch.sessions.iter().try_for_each(|s| write_session(tx, s))?;
    if let Some(breaker) = &batch.breaker {
        put_setting(tx, "breaker", &serde_json::to_string(breaker).unwrap_or_default())?;
    }
    if let Some(n) = batch.next_root {
        put_setting(tx, "next_root", &n.to_string())?;
    }
    if let Some((groups_until, sessions_until)) = batch.renew {
        let node = batch.lease.node.bytes();
        tx.prepare_cached("update nodes set seen_at = ?2 where id = ?1")?.execute(params![node, now])?;
        tx.prepare_cached("update dispatch_groups set lease_ends_at = ?2 where owner_id = ?1")?
            .execute(params![node, groups_until.0])?;
        tx.prepare_cached("update sessions set lease_ends_at = ?2 where node_id = ?1 and ended_at is null")?
            .execute(params![node, sessions_until.0])?;
    }
    Ok(())
}

pub fn put_setting(connection: &Connection, name: &str, value: &str) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "insert into settings (name, value) values (?1, ?2) on conflict (name) do update set value = excluded.value",
    )?;
    statement.execute(params![name, value])?;
    Ok(())
}

fn write_session(tx: &Connection, s: &SessionRow) -> Result<()> {
    let list = |names: &[model::Name]| serde_json::to_string(names).unwrap_or_default();
    tx.prepare_cached(
        "insert into sessions (id, node_id, host, queues, actions, capacity, started_at, lease_ends_at, ended_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         on conflict (id) do update set lease_ends_at = excluded.lease_ends_at, ended_at = excluded.ended_at",
    )?
    .execute(params![
        s.id.bytes(), s.node.bytes(), &*s.offer.host, list(&s.offer.queues), list(&s.offer.actions),
        s.offer.capacity as i64, s.started_at.0, s.lease_ends_at.0, micros(s.ended_at)
    ])?;
    Ok(())
}

fn write_group(tx: &Connection, g: &GroupWrite) -> Result<()> {
    let breaker = g.breaker.as_ref().map(|b| serde_json::to_string(b).unwrap_or_default());
    tx.prepare_cached(
        "update dispatch_groups set breaker = coalesce(?2, breaker), lease_ends_at = coalesce(?3, lease_ends_at),
         last_selected_at = coalesce(?4, last_selected_at), current_tick_id = coalesce(?5, current_tick_id),
         last_tick_completed_at = coalesce(?6, last_tick_completed_at) where dispatch_group = ?1",
    )?
    .execute(params![
        g.dispatch_group.as_str(), breaker, micros(g.lease_ends_at), micros(g.last_selected_at), g.current_tick,
        micros(g.last_tick_completed_at)
    ])?;
    Ok(())
}
