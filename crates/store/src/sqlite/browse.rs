//! Reads for people, on a connection of their own, never inside a turn.

use super::commit::global_breaker;
use super::read::{group_status, read_tallies};
use super::statements::{BLOCK_COLUMNS, DETAIL_COLUMNS, STEP_COLUMNS};
use super::{MigrationState, OpenMode, connect, migrate, migration_state, rows};
use crate::batch::{Alert, Attempt, NodeRow, SessionRow, Tick};
use crate::{AuditEntry, EventRow, Filter, Result, StepRow, StoreError, Totals};
use model::{
    Block, BlockId, Breaker, DispatchGroup, GroupStatus, NodeId, SessionId, SessionOffer, StepId, Timestamp,
    limits,
};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use std::path::{Path, PathBuf};

pub struct Browse {
    pub(super) connection: Connection,
    path: PathBuf,
}

impl Browse {
    /// Open for reading; a file that was never migrated is refused with what to do.
    pub fn open(path: &Path) -> Result<Browse> {
        if !path.exists() {
            let fix = "start `stepfast serve` or run `stepfast migrate` to make it";
            return Err(StoreError::Refused(format!("there is no database at {}; {fix}", path.display())));
        }
        let connection = connect::open(path, OpenMode::Reader)?;
        let state = migration_state(&connection)?;
        if state.applied < state.known {
            let fix = "run `stepfast migrate`";
            return Err(StoreError::Refused(format!("the database is older than this program; {fix}")));
        }
        Ok(Browse { connection, path: path.into() })
    }

    /// Migrate without deciding anything: the `migrate` command.
    pub fn migrate(path: &Path, now: Timestamp, apply: bool) -> Result<MigrationState> {
        if apply {
            return migrate::migrate(&mut connect::open(path, OpenMode::Writer)?, now);
        }
        if !path.exists() {
            return Err(StoreError::Refused(format!("there is no database at {}", path.display())));
        }
        migration_state(&connect::open(path, OpenMode::Reader)?)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn step(&self, id: StepId) -> Result<Option<StepRow>> {
        Ok(self.query("where id = ?1", vec![Value::Blob(id.bytes().to_vec())])?.into_iter().next())
    }

    pub fn steps(&self, filter: &Filter) -> Result<Vec<StepRow>> {
        let mut conditions = Vec::new();
        let mut values: Vec<Value> = Vec::new();
        let mut equal = |column: &str, value: Option<Value>| {
            if let Some(value) = value {
                values.push(value);
                conditions.push(format!("{column} = ?{}", values.len()));
            }
        };
        let text = |t: &Option<String>| t.clone().map(Value::Text);
        equal("action", text(&filter.action));
        equal("queue", text(&filter.queue));
        equal("dispatch_group", text(&filter.dispatch_group));
        equal("step_key", text(&filter.step_key));
        equal("relatable_type", text(&filter.relatable_type));
        equal("relatable_id", text(&filter.relatable_id));
        equal("block_id", filter.block.map(|b| Value::Blob(b.bytes().to_vec())));
        if !filter.states.is_empty() {
            let words: Vec<String> = filter.states.iter().map(|s| format!("'{s}'")).collect();
            conditions.push(format!("state in ({})", words.join(", ")));
        }
        if let Some(after) = filter.after {
            values.push(Value::Integer(after));
            conditions.push(format!("seq {} ?{}", if filter.ascending { ">" } else { "<" }, values.len()));
        }
        let condition =
            if conditions.is_empty() { String::new() } else { format!("where {}", conditions.join(" and ")) };
        let order = if filter.ascending { "asc" } else { "desc" };
        let limit = filter.limit.clamp(1, limits::PAGE_ROWS_MAX);
        self.query(&format!("{condition} order by seq {order} limit {limit}"), values)
    }

    fn query(&self, tail: &str, values: Vec<Value>) -> Result<Vec<StepRow>> {
        let sql = format!("select {STEP_COLUMNS}, {DETAIL_COLUMNS} from steps_now {tail}");
        self.rows(&sql, values, |row| {
            let (detail, seq) = rows::detail(row)?;
            Ok(StepRow { step: rows::step(row)?, detail, seq })
        })
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: Vec<Value>,
        read: impl Fn(&Row) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut found = statement.query(params_from_iter(values))?;
        let mut out = Vec::new();
        while let Some(row) = found.next()? {
            out.push(read(row)?);
        }
        Ok(out)
    }

    pub fn block(&self, id: BlockId) -> Result<Option<Block>> {
        let sql = format!("select {BLOCK_COLUMNS} from blocks where id = ?1");
        Ok(self.rows(&sql, vec![Value::Blob(id.bytes().to_vec())], rows::block)?.into_iter().next())
    }

    pub fn totals(&self) -> Result<Totals> {
        let oldest: Option<i64> = self
            .connection
            .query_row(
                "select min(created_at) from (select created_at from steps indexed by steps_ready
                where state = 'pending' and block_id is null and wake_at is null limit 1000)",
                [],
                |r| r.get(0),
            )
            .optional()?
            .flatten();
        Ok(Totals { tallies: read_tallies(&self.connection)?, oldest_pending: oldest.map(Timestamp) })
    }

    pub fn groups(&self) -> Result<Vec<GroupStatus>> {
        group_statuses(&self.connection)
    }

    pub fn breaker(&self) -> Result<Breaker> {
        global_breaker(&self.connection)
    }

    pub fn nodes(&self) -> Result<Vec<NodeRow>> {
        let sql = "select id, host, pid, url, version, started_at, seen_at, ended_at from nodes order by started_at desc limit 100";
        self.rows(sql, vec![], |r| {
            Ok(NodeRow {
                id: NodeId::from_bytes(r.get(0)?),
                host: r.get(1)?,
                pid: r.get(2)?,
                url: r.get(3)?,
                version: r.get(4)?,
                started_at: Timestamp(r.get(5)?),
                seen_at: Timestamp(r.get(6)?),
                ended_at: r.get::<_, Option<i64>>(7)?.map(Timestamp),
            })
        })
    }

    pub fn sessions(&self) -> Result<Vec<SessionRow>> {
        let sql = "select id, node_id, host, queues, actions, capacity, started_at, lease_ends_at, ended_at from sessions
                   where ended_at is null order by started_at limit 1000";
        self.rows(sql, vec![], |r| {
            let list = |i: usize| -> Result<Vec<model::Name>> {
                Ok(serde_json::from_str(&r.get::<_, String>(i)?).unwrap_or_default())
            };
            Ok(SessionRow {
                id: SessionId::from_bytes(r.get(0)?),
                node: NodeId::from_bytes(r.get(1)?),
                offer: SessionOffer {
                    host: rows::name(&r.get::<_, String>(2)?),
                    queues: list(3)?,
                    actions: list(4)?,
                    capacity: r.get::<_, i64>(5)?.unsigned_abs() as usize,
                },
                started_at: Timestamp(r.get(6)?),
                lease_ends_at: Timestamp(r.get(7)?),
                ended_at: r.get::<_, Option<i64>>(8)?.map(Timestamp),
            })
        })
    }

    pub fn ticks(&self, dispatch_group: Option<&str>, limit: usize) -> Result<Vec<Tick>> {
        let (condition, values) = match dispatch_group {
            Some(group) => ("where dispatch_group = ?1", vec![Value::Text(group.into())]),
            None => ("", vec![]),
        };
        let sql = format!(
            "select id, dispatch_group, started_at, completed_at, duration_us, turns, progress, steps_dispatched, capped,
             left_over, phases from ticks {condition} order by id desc limit {}",
            limit.clamp(1, limits::PAGE_ROWS_MAX)
        );
        self.rows(&sql, values, |r| {
            let count = |i: usize| -> Result<u64> { Ok(r.get::<_, i64>(i)?.unsigned_abs()) };
            Ok(Tick {
                id: r.get(0)?,
                dispatch_group: DispatchGroup(rows::name(&r.get::<_, String>(1)?)),
                started_at: Timestamp(r.get(2)?),
                completed_at: Timestamp(r.get(3)?),
                duration_us: count(4)?,
                turns: count(5)?,
                progress: count(6)? as usize,
                steps_dispatched: count(7)?,
                capped: count(8)?,
                left_over: count(9)?,
                phases: serde_json::from_str(&r.get::<_, String>(10)?).unwrap_or_default(),
            })
        })
    }

    pub fn attempts(&self, step: StepId) -> Result<Vec<Attempt>> {
        let sql = "select attempt, at, session_id, host, started_at, outcome, message from step_attempts
                   where step_id = ?1 order by attempt, at limit 1000";
        self.rows(sql, vec![Value::Blob(step.bytes().to_vec())], |r| {
            Ok(Attempt {
                step,
                attempt: r.get(0)?,
                at: Timestamp(r.get(1)?),
                session: r.get::<_, Option<[u8; 16]>>(2)?.map(SessionId::from_bytes),
                host: r.get::<_, Option<String>>(3)?.map(|h| rows::name(&h)),
                started_at: r.get::<_, Option<i64>>(4)?.map(Timestamp),
                outcome: r.get(5)?,
                message: r.get(6)?,
            })
        })
    }

    pub fn history(&self, step: StepId) -> Result<Vec<(Timestamp, EventRow)>> {
        let sql = "select at, from_state, event, to_state, attempt from events where entity_id = ?1 order by seq limit 1000";
        self.rows(sql, vec![Value::Blob(step.bytes().to_vec())], |r| {
            let to: String = r.get(3)?;
            let row = EventRow {
                step,
                from: r.get::<_, Option<String>>(1)?.and_then(|s| s.parse().ok()),
                event: r.get::<_, Option<String>>(2)?.and_then(|s| s.parse().ok()),
                to: to.parse().map_err(|_| StoreError::Corrupt {
                    table: "events",
                    column: "to_state",
                    value: to,
                })?,
                attempt: r.get(4)?,
            };
            Ok((Timestamp(r.get(0)?), row))
        })
    }

    pub fn alerts(&self) -> Result<Vec<(Timestamp, Alert)>> {
        let sql = "select opened_at, entity, entity_id, reason, severity, message from alerts where closed_at is null
                   order by opened_at desc limit 1000";
        self.rows(sql, vec![], |r| {
            let entity: String = r.get(1)?;
            let severity: String = r.get(4)?;
            let alert = Alert {
                entity: if entity == "step" { "step" } else { "dispatch_group" },
                entity_id: r.get(2)?,
                reason: r.get(3)?,
                severity: if severity == "critical" { "critical" } else { "warning" },
                message: r.get(5)?,
                open: true,
            };
            Ok((Timestamp(r.get(0)?), alert))
        })
    }

    pub fn audit(&self, limit: usize) -> Result<Vec<(Timestamp, AuditEntry)>> {
        let sql = format!(
            "select at, who, verb, target, why, before, after from audit order by id desc limit {}",
            limit.clamp(1, limits::PAGE_ROWS_MAX)
        );
        self.rows(&sql, vec![], |r| {
            let entry = AuditEntry {
                who: r.get(1)?,
                verb: r.get(2)?,
                target: r.get(3)?,
                why: r.get(4)?,
                before: r.get(5)?,
                after: r.get(6)?,
            };
            Ok((Timestamp(r.get(0)?), entry))
        })
    }

    /// Steps that a worker may be running right now, parked parents left out.
    pub fn in_flight(&self, dispatch_group: Option<&str>) -> Result<i64> {
        // By the index of held rows and the log, so that neither history nor waiting parents are looked at.
        let sql = "select (select count(*) from steps
                            where session_id is not null and state in ('dispatched', 'running')
                              and (?1 is null or dispatch_group = ?1))
                        + (select count(*) from claimed c join steps s on s.id = c.step_id
                            where c.parked = 0 and s.state = 'pending' and s.attempt + 1 = c.attempt
                              and (?1 is null or s.dispatch_group = ?1))";
        Ok(self.connection.prepare_cached(sql)?.query_row([dispatch_group], |r| r.get(0))?)
    }

    /// A consistent copy of the database, made through SQLite's own backup.
    pub fn backup(&self, to: &Path, mut progress: impl FnMut(u64, u64)) -> Result<()> {
        if to.exists() {
            return Err(StoreError::Refused(format!("{} already exists; name a new file", to.display())));
        }
        let mut copy = Connection::open(to)?;
        {
            let backup = rusqlite::backup::Backup::new(&self.connection, &mut copy)?;
            loop {
                let step = backup.step(2_000)?;
                let at = backup.progress();
                progress((at.pagecount - at.remaining) as u64, at.pagecount as u64);
                if step == rusqlite::backup::StepResult::Done {
                    break;
                }
            }
        }
        let sound: String = copy.query_row("pragma integrity_check", [], |r| r.get(0))?;
        if sound != "ok" {
            return Err(StoreError::Down(format!("the copy is damaged: {sound}")));
        }
        Ok(())
    }
}

pub(super) fn group_statuses(connection: &Connection) -> Result<Vec<GroupStatus>> {
    let mut statement = connection.prepare_cached(
        "select dispatch_group, owner_id, epoch, lease_ends_at, breaker, last_selected_at, current_tick_id,
         last_tick_completed_at from dispatch_groups order by ordinal",
    )?;
    let mut found = statement.query([])?;
    let mut groups = Vec::new();
    while let Some(row) = found.next()? {
        groups.push(group_status(row)?);
    }
    Ok(groups)
}
