//! Definitions and workflows on record, and what a node reads when a workflow that it does not have in hand goes on.

use crate::sql::{Param, Row, Sql};
use crate::statements::{NEWEST_DEFINITION, PUT_DEFINITION, WORKFLOW_COLUMNS};
use crate::{Lease, Result, StoreError, many, params, rows};
use model::{
    Aftermath, BlockId, CompensationRun, DispatchGroup, PausedBy, Pinned, State, StepId, Timestamp, Workflow,
    WorkflowId, WorkflowState,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A version of a definition, as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    pub pinned: Pinned,
    /// In the form that has the hash.
    pub text: String,
}

/// A step of a workflow that may be undone.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub step: StepId,
    pub def: u32,
    pub state: State,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    /// Items of it that succeeded, and whether any was begun.
    pub items: u32,
    pub items_started: bool,
}

/// The parts of a version, for its order.
fn parts(version: &str) -> Result<[u64; 3]> {
    let corrupt = || StoreError::Corrupt { table: "definitions", column: "version", value: version.into() };
    let mut parts = version.splitn(3, '.').map(|part| part.parse::<u64>().ok());
    let mut part = || parts.next().flatten().ok_or_else(corrupt);
    Ok([part()?, part()?, part()?])
}

pub fn put(sql: &dyn Sql, definition: &Definition, at: Timestamp, by: &str) -> Result<u64> {
    let Definition { pinned: Pinned { key, version, hash }, text } = definition;
    let [major, minor, patch] = parts(version)?;
    sql.execute(
        PUT_DEFINITION,
        params![&**key, &**version, major, minor, patch, &**hash, text.as_str(), at, by],
    )
}

fn definition(row: &Row) -> Result<Definition> {
    let pinned =
        Pinned { key: rows::shared(row, 0)?, version: rows::shared(row, 1)?, hash: rows::shared(row, 2)? };
    Ok(Definition { pinned, text: row.get(3)? })
}

/// A version of a definition, or its newest.
pub fn find(sql: &dyn Sql, key: &str, version: Option<&str>) -> Result<Option<Definition>> {
    match version {
        None => sql.first(NEWEST_DEFINITION, params![key], definition),
        Some(version) => {
            let text = "select key, version, hash, text from definitions where key = $1 and version = $2";
            sql.first(text, params![key, version], definition)
        }
    }
}

/// Reads `WORKFLOW_COLUMNS`.
pub fn read(row: &Row) -> Result<Workflow> {
    let state = row.text(5)?;
    let corrupt = || StoreError::Corrupt { table: "workflows", column: "state", value: state.into() };
    Ok(Workflow {
        id: WorkflowId::from_bytes(row.get(0)?),
        definition: Arc::new(Pinned {
            key: rows::shared(row, 1)?,
            version: rows::shared(row, 2)?,
            hash: rows::shared(row, 3)?,
        }),
        dispatch_group: DispatchGroup(rows::shared(row, 4)?),
        state: state.parse::<WorkflowState>().map_err(|_| corrupt())?,
        message: row.get(6)?,
        parent: row.get::<Option<[u8; 16]>>(7)?.map(StepId::from_bytes),
        depth: row.get(8)?,
        input: row.text(9)?.into(),
        output: row.get::<Option<String>>(10)?.map(Into::into),
        labels: labels(row.text(11)?)?,
        created_at: Timestamp(row.get(12)?),
        started_at: rows::time(row, 13)?,
        completed_at: rows::time(row, 14)?,
        wake_at: rows::time(row, 15)?,
        version: row.get::<i64>(16)?.unsigned_abs(),
        concurrency_key: rows::optional_shared(row, 17)?,
        expected_at: rows::time(row, 18)?,
        paused_by: paused_by(row.get(29)?)?,
        trace: rows::trace(row, 30, "workflows")?,
        aftermath: aftermath(row)?,
    })
}

fn aftermath(row: &Row) -> Result<Option<Box<Aftermath>>> {
    let Some(auto_retries) = row.get::<Option<i64>>(19)? else { return Ok(None) };
    let undo = row.get::<Option<String>>(28)?;
    let corrupt =
        |value: &str| StoreError::Corrupt { table: "workflows", column: "undo", value: value.into() };
    let undo = undo.map(|text| serde_json::from_str(&text).map_err(|_| corrupt(&text))).transpose()?;
    Ok(Some(Box::new(Aftermath {
        auto_retries: auto_retries.unsigned_abs() as u32,
        auto_retry_at: rows::time(row, 20)?,
        restarted_at: rows::time(row, 21)?,
        resolved_at: rows::time(row, 22)?,
        cancel_requested_at: rows::time(row, 23)?,
        compensation_started_at: rows::time(row, 24)?,
        compensated_at: rows::time(row, 25)?,
        compensations: row.get(26)?,
        has_skips: row.get::<i64>(27)? != 0,
        undo,
    })))
}

fn run_of(row: &Row) -> Result<CompensationRun> {
    let state = row.text(6)?;
    let corrupt =
        |_| StoreError::Corrupt { table: "compensation_runs", column: "state", value: state.into() };
    let cursor = rows::time(row, 10)?.zip(row.get::<Option<[u8; 16]>>(11)?.map(StepId::from_bytes));
    Ok(CompensationRun {
        workflow: WorkflowId::from_bytes(row.get(0)?),
        compensation: row.get(1)?,
        position: row.get(2)?,
        step_key: row.get(3)?,
        undoes: StepId::from_bytes(row.get(4)?),
        action: row.get(5)?,
        state: state.parse().map_err(corrupt)?,
        step: row.get::<Option<[u8; 16]>>(7)?.map(StepId::from_bytes),
        items_done: row.get(8)?,
        items_skipped: row.get(9)?,
        cursor,
        started_at: rows::time(row, 12)?,
        finished_at: rows::time(row, 13)?,
        failure_message: row.get(14)?,
    })
}

const RUN_COLUMNS: &str = "workflow_id, compensation, position, step_key, undoes, action, state, step_id, items_done, \
    items_skipped, cursor_at, cursor_id, started_at, finished_at, failure_message";

/// The plan of a compensation, in its order.
pub fn compensation_runs(sql: &dyn Sql, id: WorkflowId, compensation: u32) -> Result<Vec<CompensationRun>> {
    let text = format!(
        "select {RUN_COLUMNS} from compensation_runs where workflow_id = $1 and compensation = $2 order by position"
    );
    sql.rows(&text, params![id, i64::from(compensation)], run_of)
}

/// All that was ever undone of a workflow, or is to be.
pub fn all_compensation_runs(sql: &dyn Sql, id: WorkflowId, limit: usize) -> Result<Vec<CompensationRun>> {
    let text = format!(
        "select {RUN_COLUMNS} from compensation_runs where workflow_id = $1 order by compensation, position limit $2"
    );
    sql.rows(&text, params![id, limit], run_of)
}

/// The last run of each step of a workflow that is not superseded, as far as it matters to what is undone.
pub fn done(sql: &dyn Sql, id: WorkflowId) -> Result<Vec<Ended>> {
    let text = "select s.id, s.def, s.run, s.state, s.started_at, s.completed_at,
                       (select count(*) from steps i where i.block_id = s.child_block_id and i.state = 'completed'
                           and i.item is not null),
                       (select count(*) from steps i where i.block_id = s.child_block_id and i.started_at is not null)
                  from steps s where s.workflow_id = $1 and s.block_id is null and s.state <> 'superseded'
                 order by s.def, s.run, s.id";
    sql.rows(text, params![id], |row| {
        let state = row.text(3)?;
        let corrupt = |_| StoreError::Corrupt { table: "steps", column: "state", value: state.into() };
        Ok(Ended {
            step: StepId::from_bytes(row.get(0)?),
            def: row.get(1)?,
            state: state.parse().map_err(corrupt)?,
            started_at: rows::time(row, 4)?,
            completed_at: rows::time(row, 5)?,
            items: row.get(6)?,
            items_started: row.get::<i64>(7)? > 0,
        })
    })
}

/// The item of a fan-out that succeeded just after another.
pub fn next_item(
    sql: &dyn Sql,
    block: BlockId,
    behind: (Timestamp, StepId),
) -> Result<Option<(Timestamp, StepId)>> {
    let text = "select completed_at, id from steps
                 where block_id = $1 and state = 'completed' and item is not null and (completed_at, id) > ($2, $3)
                 order by completed_at, id limit 1";
    sql.first(text, params![block, behind.0, behind.1], |row| {
        Ok((Timestamp(row.get(0)?), StepId::from_bytes(row.get(1)?)))
    })
}

/// The child that a step in a line has.
pub fn only_child(sql: &dyn Sql, block: BlockId) -> Result<Option<StepId>> {
    let text = "select id from steps where block_id = $1 and item is not null order by id limit 1";
    sql.first(text, params![block], |row| Ok(StepId::from_bytes(row.get(0)?)))
}

/// The item of a fan-out that succeeded last before another, or at all.
pub fn last_item(
    sql: &dyn Sql,
    block: BlockId,
    before: Option<(Timestamp, StepId)>,
) -> Result<Option<(Timestamp, StepId)>> {
    let (at, id) = before.map_or((i64::MAX, [0xff; 16]), |(at, id)| (at.0, *id.bytes()));
    let text = "select completed_at, id from steps
                 where block_id = $1 and state = 'completed' and item is not null and (completed_at, id) < ($2, $3)
                 order by completed_at desc, id desc limit 1";
    sql.first(text, params![block, at, &id], |row| {
        Ok((Timestamp(row.get(0)?), StepId::from_bytes(row.get(1)?)))
    })
}

fn paused_by(word: Option<String>) -> Result<Option<PausedBy>> {
    let corrupt =
        |value: &str| StoreError::Corrupt { table: "workflows", column: "paused_by", value: value.into() };
    word.map(|word| word.parse().map_err(|_| corrupt(&word))).transpose()
}

fn labels(text: &str) -> Result<Arc<[(String, String)]>> {
    let corrupt = |_| StoreError::Corrupt { table: "workflows", column: "labels", value: text.into() };
    let labels: BTreeMap<String, String> = serde_json::from_str(text).map_err(corrupt)?;
    Ok(labels.into_iter().collect())
}

pub fn workflow(sql: &dyn Sql, id: WorkflowId) -> Result<Option<Workflow>> {
    sql.first(&format!("select {WORKFLOW_COLUMNS} from workflows where id = $1"), params![id], read)
}

/// Many at once, in no order; those that are not there are left out.
pub fn workflows(sql: &dyn Sql, ids: &[WorkflowId]) -> Result<Vec<Workflow>> {
    let text = format!("select {WORKFLOW_COLUMNS} from workflows where id in ({{ids}})");
    many::rows(sql, &text, ids, read)
}

fn id(row: &Row) -> Result<WorkflowId> {
    Ok(WorkflowId::from_bytes(row.get(0)?))
}

/// Workflows of a lease's groups that somebody made and nobody has begun. Those that wait for others of their key are not among
/// them: whoever ends one begins the next.
pub fn pending(sql: &dyn Sql, lease: &Lease) -> Result<Vec<WorkflowId>> {
    let text = "select id from workflows
                 where state = 'pending' and concurrency_key is null and dispatch_group = $1 order by id";
    // Unless nobody of their key is being done.
    let keyed = "select w.id from workflows w
                  where w.state = 'pending' and w.concurrency_key is not null and w.dispatch_group = $1
                    and not exists (select 1 from workflows l where l.concurrency_key = w.concurrency_key
                                       and ({live} or l.state = 'pending' and l.id < w.id))
                  order by w.id";
    let keyed = keyed.replace("{live}", &live("l"));
    let mut pending = Vec::new();
    for (group, _) in &lease.groups {
        pending.extend(sql.rows(text, params![group.as_str()], id)?);
        pending.extend(sql.rows(&keyed, params![group.as_str()], id)?);
    }
    Ok(pending)
}

/// Those that count against the limit of their key: also one that failed and is tried again by itself, and one that is undone.
fn live(w: &str) -> String {
    format!(
        "({w}.state = 'running' or {w}.state = 'paused' or {w}.state = 'compensating' or {w}.state = 'compensation_failed'
          or {w}.state = 'failed' and {w}.auto_retry_at is not null)"
    )
}

/// Workflows of a key that are being done, and the first of those that wait.
pub fn of_key(sql: &dyn Sql, key: &str, limit: usize) -> Result<(Vec<WorkflowId>, Vec<WorkflowId>)> {
    let live = format!("select id from workflows w where concurrency_key = $1 and {} order by id", live("w"));
    let waiting =
        "select id from workflows where concurrency_key = $1 and state = 'pending' order by id limit $2";
    Ok((sql.rows(&live, params![key], id)?, sql.rows(waiting, params![key, limit], id)?))
}

/// The workflow that a step waits for.
pub fn below(sql: &dyn Sql, step: StepId) -> Result<Option<WorkflowId>> {
    sql.first(
        "select id from workflows where parent_step_id = $1 order by id desc limit 1",
        params![step],
        id,
    )
}

/// Workflows that are to be looked at, in the order of their times.
pub fn due(
    sql: &dyn Sql,
    lease: &Lease,
    behind: Option<(Timestamp, Option<WorkflowId>)>,
    until: Timestamp,
    limit: usize,
) -> Result<Vec<(Timestamp, WorkflowId)>> {
    if lease.groups.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<String> = (0..lease.groups.len()).map(|n| format!("${}", n + 5)).collect();
    let text = format!(
        "select wake_at, id from workflows
          where wake_at is not null and wake_at <= $1 and (wake_at, id) > ($2, $3) and dispatch_group in ({})
          order by wake_at, id limit $4",
        places.join(", ")
    );
    let (at, last) = behind.map_or((i64::MIN, None), |(at, id)| (at.0, Some(id)));
    let last = last.map_or([0; 16], |id| id.map_or([0xff; 16], |id| *id.bytes()));
    let mut values = params![until, at, &last, limit].to_vec();
    values.extend(lease.groups.iter().map(|(group, _)| Param::from(group.as_str())));
    sql.rows(&text, &values, |row| Ok((Timestamp(row.get(0)?), WorkflowId::from_bytes(row.get(1)?))))
}

/// Steps of a lease's groups that should have been polled before then, and those that somebody polls: they are held.
pub fn polls_before(sql: &dyn Sql, lease: &Lease, before: Timestamp, limit: usize) -> Result<Vec<StepId>> {
    if lease.groups.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<String> = (0..lease.groups.len()).map(|n| format!("${}", n + 3)).collect();
    let places = places.join(", ");
    let text = format!(
        "select id from (select id, wake_at from steps
                          where state = 'polling' and wake_at <= $1 and dispatch_group in ({places})
                         union all
                         select id, started_at from steps
                          where session_id is not null and state in ('dispatched', 'running')
                            and poll_started_at is not null and dispatch_group in ({places})) as polls
          order by wake_at, id limit $2"
    );
    let mut values = params![before, limit].to_vec();
    values.extend(lease.groups.iter().map(|(group, _)| Param::from(group.as_str())));
    sql.rows(&text, &values, |row| Ok(StepId::from_bytes(row.get(0)?)))
}

/// What the items of a fan-out have answered.
pub fn answers(sql: &dyn Sql, block: BlockId) -> Result<Vec<(u32, String)>> {
    let text = "select item, response from steps
                 where block_id = $1 and state = 'completed' and item is not null and response is not null";
    sql.rows(text, params![block], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// The highest number of an event in each of a lease's groups.
pub fn last_events(sql: &dyn Sql, lease: &Lease) -> Result<BTreeMap<DispatchGroup, u64>> {
    lease.groups.iter().map(|(group, _)| Ok((group.clone(), last_event(sql, group.as_str())?))).collect()
}

pub fn last_event(sql: &dyn Sql, group: &str) -> Result<u64> {
    let text = "select coalesce(max(number), 0) from workflow_events where dispatch_group = $1";
    Ok(sql.value::<i64>(text, params![group])?.unsigned_abs())
}
