//! The engine's side of SQLite: leases, recovery, and the few reads a turn may need.

use super::commit::{global_breaker, put_setting, read_breaker};
use super::statements::{self as sql, with_columns};
use super::writer::Writer;
use super::{Holder, Lock, OpenMode, connect, migrate, retention, rows};
use crate::batch::{ClaimLog, NodeRow, TallyKey};
use crate::{Batch, Clock, Done, Found, Lease, Result, Retained, Retention, Store, StoreError};
use model::{
    Block, BlockId, Detail, DispatchGroup, GroupStatus, NodeId, Priority, SessionId, Step, StepId, StepKind,
    Timestamp, limits,
};
use rules::settle::Snapshot;
use rusqlite::{Connection, OptionalExtension, Params, params};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct SqliteStore {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    reader: Connection,
    writer: Writer,
    lock: Lock,
    /// How far the last page of retention came.
    retained_to: std::cell::Cell<retention::Cursor>,
}

impl SqliteStore {
    /// Open the file, migrate it, and become the one process that decides for it.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, holder: Holder) -> Result<SqliteStore> {
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent)
                .map_err(|e| StoreError::Down(format!("cannot make {}: {e}", parent.display())))?;
        }
        let lock = Lock::take(path, holder)?;
        let mut connection = connect::open(path, OpenMode::Writer)?;
        migrate(&mut connection, clock.now())?;
        let reader = connect::open(path, OpenMode::Reader)?;
        Ok(SqliteStore {
            path: path.into(),
            clock,
            reader,
            writer: Writer::start(connection),
            lock,
            retained_to: Default::default(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
    pub fn announce(&mut self, url: &str) -> Result<()> {
        self.lock.announce(url)
    }
    /// One page of retention between two turns; a dry run only reads, and counts everything at once.
    pub fn retain(&self, what: Retention, dry_run: bool) -> Result<Retained> {
        if dry_run {
            return retention::preview(&self.reader, what);
        }
        let from = self.retained_to.get();
        let (page, next) = self.writer.run(move |connection| retention::run(connection, what, from))?;
        self.retained_to.set(next);
        Ok(page)
    }
    fn many<P: Params>(&self, statement: &str, params: P) -> Result<Vec<Step>> {
        let mut statement = self.reader.prepare_cached(&with_columns(statement))?;
        let mut found = statement.query(params)?;
        let mut steps = Vec::new();
        while let Some(row) = found.next()? {
            steps.push(rows::step(row)?);
        }
        Ok(steps)
    }
}

impl Snapshot for SqliteStore {
    type Error = StoreError;

    fn step(&mut self, id: StepId) -> Result<Option<Step>> {
        let found = self.many("select {columns} from steps where id = $1", [id.bytes()])?;
        Ok(found.into_iter().next())
    }

    fn block(&mut self, id: BlockId) -> Result<Option<Block>> {
        let text = format!("select {} from blocks where id = ?1", sql::BLOCK_COLUMNS);
        let mut statement = self.reader.prepare_cached(&text)?;
        let mut found = statement.query([id.bytes()])?;
        found.next()?.map(rows::block).transpose()
    }

    fn unsettled(&mut self, block: BlockId, after: Option<(u32, StepId)>, limit: usize) -> Result<Vec<Step>> {
        let (index, id) = after.map_or((0, [0; 16]), |(index, id)| (index, *id.bytes()));
        self.many(sql::UNSETTLED_CHILDREN, params![block.bytes(), index, id, limit as i64])
    }
}

impl Store for SqliteStore {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn lease(&mut self, node: &NodeRow, groups: &[DispatchGroup], all: &[DispatchGroup]) -> Result<Lease> {
        let (node, groups, all) = (node.clone(), groups.to_vec(), all.to_vec());
        let now = self.now();
        self.writer.run(move |connection| take_lease(connection, &node, &groups, &all, now))
    }

    fn recover(&mut self, lease: &Lease) -> Result<Found> {
        let mut found = Found { breaker: global_breaker(&self.reader)?, ..Found::default() };
        found.claims = read_claims(&self.reader)?;
        found.held = self.many(
            "select {columns} from steps where session_id is not null and state in ('dispatched', 'running')",
            [],
        )?;
        found.blocks = self.open_blocks(lease)?;
        found.tallies = read_tallies(&self.reader)?;
        let mut alerted = self.reader.prepare_cached(
            "select entity_id from alerts where closed_at is null and reason = 'group_no_progress'",
        )?;
        found.alerted = alerted
            .query_map([], |r| Ok(DispatchGroup::new(&r.get::<_, String>(0)?)))?
            .collect::<rusqlite::Result<_>>()?;
        found.groups = super::browse::group_statuses(&self.reader)?;
        let setting = |name: &str| -> Result<Option<String>> {
            Ok(self
                .reader
                .query_row("select value from settings where name = ?1", [name], |r| r.get(0))
                .optional()?)
        };
        found.next_root = setting("next_root")?.and_then(|n| n.parse().ok()).unwrap_or(0);
        let highest = |table: &str| {
            self.reader.query_row(&format!("select coalesce(max(id), 0) from {table}"), [], |r| r.get(0))
        };
        found.last_tick = highest("ticks")?;
        found.last_claim = highest("claims")?;
        Ok(found)
    }

    fn open_blocks(&mut self, lease: &Lease) -> Result<Vec<Block>> {
        let mut blocks = Vec::new();
        for (group, _) in &lease.groups {
            blocks.extend(open_blocks(&self.reader, group)?);
        }
        Ok(blocks)
    }

    fn ready(
        &mut self,
        group: &DispatchGroup,
        queue: &str,
        priority: Priority,
        after: Option<StepId>,
        limit: usize,
    ) -> Result<Vec<Step>> {
        let after = after.map_or([0; 16], |id| *id.bytes());
        self.many(sql::READY_ROOTS, params![group.as_str(), queue, priority.word(), after, limit as i64])
    }

    fn oldest_ready(&mut self, group: &DispatchGroup) -> Result<Option<Timestamp>> {
        let mut statement = self.reader.prepare_cached(
            "select created_at from steps indexed by steps_ready
              where dispatch_group = ?1 and state = 'pending' and block_id is null and wake_at is null
              order by id limit 1",
        )?;
        Ok(statement.query_row([group.as_str()], |r| r.get(0)).optional()?.map(Timestamp))
    }

    fn at_index(
        &mut self,
        block: BlockId,
        kind: StepKind,
        index: u32,
        after: Option<StepId>,
        limit: usize,
    ) -> Result<Vec<Step>> {
        let after = after.map_or([0; 16], |id| *id.bytes());
        self.many(sql::AT_INDEX, params![block.bytes(), index, after, kind.word(), limit as i64])
    }

    fn due(
        &mut self,
        after: Option<(Timestamp, StepId)>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<(Timestamp, StepId)>> {
        let (at, id) = after.map_or((i64::MIN, [0; 16]), |(at, id)| (at.0, *id.bytes()));
        let mut statement = self.reader.prepare_cached(sql::DUE)?;
        let found = statement.query_map(params![until.0, at, id, limit as i64], |r| {
            Ok((Timestamp(r.get(0)?), StepId::from_bytes(r.get(1)?)))
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    fn detail(&mut self, id: StepId) -> Result<Option<Detail>> {
        let text = format!("select {}, {} from steps where id = ?1", sql::STEP_COLUMNS, sql::DETAIL_COLUMNS);
        let mut statement = self.reader.prepare_cached(&text)?;
        let mut found = statement.query([id.bytes()])?;
        found.next()?.map(|row| rows::detail(row).map(|(detail, _)| detail)).transpose()
    }

    fn cut_off(&mut self, block: BlockId, above: u32, limit: usize) -> Result<Vec<Step>> {
        self.many(
            "select {columns} from steps where block_id = $1 and block_index > $2 and state = 'cancelled'
             and reason = 'predecessor_failed' order by block_index, id limit $3",
            params![block.bytes(), above, limit as i64],
        )
    }

    fn commit(&mut self, batch: Batch, done: Done) {
        self.writer.commit(batch, done);
    }

    fn reset(&mut self) {
        self.writer.reset();
    }

    fn release(&mut self, lease: &Lease) -> Result<()> {
        let (lease, now) = (lease.clone(), self.now());
        self.writer.run(move |connection| {
            let tx = connection.transaction()?;
            for (group, epoch) in &lease.groups {
                tx.execute(
                    "update dispatch_groups set owner_id = null, lease_ends_at = null
                     where dispatch_group = ?1 and owner_id = ?2 and epoch = ?3",
                    params![group.as_str(), lease.node.bytes(), *epoch as i64],
                )?;
            }
            tx.execute("update nodes set ended_at = ?2 where id = ?1", params![lease.node.bytes(), now.0])?;
            tx.execute(
                "update sessions set ended_at = ?2 where node_id = ?1 and ended_at is null",
                params![lease.node.bytes(), now.0],
            )?;
            tx.commit()?;
            Ok(())
        })
    }

    fn retain(&mut self, what: Retention, dry_run: bool) -> Result<Retained> {
        SqliteStore::retain(self, what, dry_run)
    }
}

/// The file lock says that every other owner is dead, so its leases are taken at once, under a new epoch.
fn take_lease(
    connection: &mut Connection,
    node: &NodeRow,
    groups: &[DispatchGroup],
    all: &[DispatchGroup],
    now: Timestamp,
) -> Result<Lease> {
    let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    check_groups(&tx, all)?;
    tx.execute("update nodes set ended_at = ?1 where ended_at is null", [now.0])?;
    tx.execute("update sessions set ended_at = ?1 where ended_at is null", [now.0])?;
    tx.execute(
        "update dispatch_groups set owner_id = null, lease_ends_at = null where owner_id is not null",
        [],
    )?;
    tx.execute(
        "insert into nodes (id, host, pid, url, version, started_at, seen_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
        params![node.id.bytes(), node.host, node.pid, node.url, node.version, now.0],
    )?;
    let mut lease = Lease { node: node.id, groups: Vec::new() };
    for group in groups {
        let epoch: i64 = tx.query_row(
            "update dispatch_groups set owner_id = ?2, epoch = epoch + 1, lease_ends_at = ?3 where dispatch_group = ?1
             returning epoch",
            params![group.as_str(), node.id.bytes(), (now + limits::GROUP_LEASE).0],
            |r| r.get(0),
        )?;
        lease.groups.push((group.clone(), epoch.unsigned_abs()));
    }
    tx.execute("delete from sessions where ended_at < ?1", [now.0 - 86_400_000_000])?;
    tx.execute("delete from nodes where ended_at < ?1", [now.0 - 7 * 86_400_000_000])?;
    tx.commit()?;
    Ok(lease)
}

/// The list of groups is part of the data: changing it by configuration would strand the steps of a group that is gone.
fn check_groups(tx: &Connection, all: &[DispatchGroup]) -> Result<()> {
    let mut statement = tx.prepare("select dispatch_group from dispatch_groups order by ordinal")?;
    let known: Vec<String> = statement.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    for (i, group) in all.iter().enumerate() {
        if !known.iter().any(|k| k == group.as_str()) {
            tx.execute(
                "insert into dispatch_groups (dispatch_group, ordinal) values (?1, ?2)",
                params![group.as_str(), (known.len() + i) as i64],
            )?;
        }
    }
    for name in known.iter().filter(|k| !all.iter().any(|g| g.as_str() == k.as_str())) {
        let live: i64 = tx.query_row(
            "select coalesce(sum(n), 0) from tallies where dispatch_group = ?1
             and state in ('pending', 'dispatched', 'running', 'polling', 'not_runnable')",
            [name],
            |r| r.get(0),
        )?;
        if live > 0 {
            let problem =
                format!("dispatch group `{name}` is not in the configuration but has {live} live steps");
            return Err(StoreError::Refused(format!(
                "{problem}; add it to `dispatch.groups` until they have ended"
            )));
        }
        tx.execute("delete from dispatch_groups where dispatch_group = ?1", [name])?;
    }
    put_setting(tx, "dispatch_groups", &all.iter().map(DispatchGroup::as_str).collect::<Vec<_>>().join(" "))
}

fn read_claims(reader: &Connection) -> Result<Vec<ClaimLog>> {
    let mut statement = reader.prepare_cached(
        "select c.id, c.session_id, c.tick_id, c.claimed_at, c.pairs, s.host, c.parked from claims c
         left join sessions s on s.id = c.session_id order by c.id",
    )?;
    let mut found = statement.query([])?;
    let mut claims = Vec::new();
    while let Some(row) = found.next()? {
        let text: String = row.get(4)?;
        let corrupt = || StoreError::Corrupt { table: "claims", column: "pairs", value: text.clone() };
        let words: Vec<String> = serde_json::from_str(&text).map_err(|_| corrupt())?;
        let pair = |word: &String| -> Option<(StepId, u32)> {
            let (id, attempt) = word.split_once(':')?;
            Some((id.parse().ok()?, attempt.parse().ok()?))
        };
        claims.push(ClaimLog {
            id: row.get(0)?,
            session: SessionId::from_bytes(row.get(1)?),
            tick: row.get::<_, Option<i64>>(2)?.unwrap_or(0),
            at: Timestamp(row.get(3)?),
            parked: row.get(6)?,
            host: row.get::<_, Option<String>>(5)?.map(|h| rows::name(&h)),
            pairs: words.iter().map(pair).collect::<Option<_>>().ok_or_else(corrupt)?,
        });
    }
    Ok(claims)
}

fn open_blocks(reader: &Connection, group: &DispatchGroup) -> Result<Vec<Block>> {
    let text = format!("select {} from blocks where home = ?1 and is_open = 1", sql::BLOCK_COLUMNS);
    let mut statement = reader.prepare_cached(&text)?;
    let mut found = statement.query([group.as_str()])?;
    let mut blocks = Vec::new();
    while let Some(row) = found.next()? {
        blocks.push(rows::block(row)?);
    }
    Ok(blocks)
}

pub fn read_tallies(reader: &Connection) -> Result<Vec<(TallyKey, i64)>> {
    let mut statement = reader.prepare_cached(
        "select dispatch_group, queue, action, host, state, leaf, throttled, n from tallies where n <> 0",
    )?;
    let mut found = statement.query([])?;
    let mut tallies = Vec::new();
    while let Some(row) = found.next()? {
        let text = |i: usize| -> Result<Arc<str>> { Ok(rows::name(&row.get::<_, String>(i)?)) };
        let host = text(3)?;
        let state: String = row.get(4)?;
        let key = TallyKey {
            dispatch_group: DispatchGroup(text(0)?),
            queue: text(1)?,
            action: text(2)?,
            host: (!host.is_empty()).then_some(host),
            state: state.parse().map_err(|_| StoreError::Corrupt {
                table: "tallies",
                column: "state",
                value: state.clone(),
            })?,
            leaf: row.get(5)?,
            throttled: row.get(6)?,
        };
        tallies.push((key, row.get(7)?));
    }
    Ok(tallies)
}

pub(super) fn group_status(row: &rusqlite::Row) -> Result<GroupStatus> {
    let breaker: String = row.get(4)?;
    Ok(GroupStatus {
        dispatch_group: DispatchGroup(rows::name(&row.get::<_, String>(0)?)),
        owner: row.get::<_, Option<[u8; 16]>>(1)?.map(NodeId::from_bytes),
        epoch: row.get::<_, i64>(2)?.unsigned_abs(),
        lease_ends_at: row.get::<_, Option<i64>>(3)?.map(Timestamp),
        breaker: read_breaker(&breaker)?,
        last_selected_at: row.get::<_, Option<i64>>(5)?.map(Timestamp),
        current_tick: row.get(6)?,
        last_tick_completed_at: row.get::<_, Option<i64>>(7)?.map(Timestamp),
    })
}
