//! Rows to nouns and back. A row that cannot be understood is an error that names it, never a guess.

use crate::sql::Row;
use crate::{Result, SessionRow, StoreError};
use model::{
    Backoff, Block, BlockId, Counts, DEFAULT_SEQUENCE, Detail, DispatchGroup, DispatchMode, InWorkflow, Look,
    Member, Name, NodeId, Place, Polls, RetrySource, SessionId, SessionOffer, Step, StepId, Sweep, Timestamp,
    Trace, WorkflowId,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

thread_local! {
    /// Names repeat without end; one copy of each is enough.
    static NAMES: RefCell<HashMap<Box<str>, Arc<str>>> = RefCell::new(HashMap::new());
}

const NAMES_MAX: usize = 4_096;

pub fn name(text: &str) -> Arc<str> {
    NAMES.with_borrow_mut(|names| {
        if let Some(known) = names.get(text) {
            return known.clone();
        }
        if names.len() >= NAMES_MAX {
            names.clear();
        }
        let shared: Arc<str> = text.into();
        names.insert(text.into(), shared.clone());
        shared
    })
}

fn word<T: FromStr>(row: &Row, i: usize, table: &'static str, column: &'static str) -> Result<T> {
    let text = row.text(i)?;
    text.parse().map_err(|_| StoreError::Corrupt { table, column, value: text.into() })
}

pub fn shared(row: &Row, i: usize) -> Result<Arc<str>> {
    Ok(name(row.text(i)?))
}

pub fn optional_shared(row: &Row, i: usize) -> Result<Option<Arc<str>>> {
    match row.is_null(i)? {
        true => Ok(None),
        false => shared(row, i).map(Some),
    }
}

fn optional_word<T: FromStr>(
    row: &Row,
    i: usize,
    table: &'static str,
    column: &'static str,
) -> Result<Option<T>> {
    match row.is_null(i)? {
        true => Ok(None),
        false => word(row, i, table, column).map(Some),
    }
}

/// Microseconds, or null.
pub fn time(row: &Row, i: usize) -> Result<Option<Timestamp>> {
    Ok(row.get::<Option<i64>>(i)?.map(Timestamp))
}

fn span(row: &Row, i: usize, default: Duration) -> Result<Duration> {
    Ok(row.get::<Option<i64>>(i)?.map_or(default, |us| Duration::from_micros(us.unsigned_abs())))
}

/// Reads `STEP_COLUMNS`.
pub fn step(row: &Row) -> Result<Step> {
    let block: Option<[u8; 16]> = row.get(6)?;
    let index: u32 = row.get(7)?;
    let usual = Backoff::default();
    Ok(Step {
        id: StepId::from_bytes(row.get(0)?),
        dispatch_group: DispatchGroup(shared(row, 1)?),
        queue: shared(row, 2)?,
        action: shared(row, 3)?,
        priority: word(row, 4, "steps", "priority")?,
        kind: word(row, 5, "steps", "kind")?,
        place: block.map(|b| Place { block: BlockId::from_bytes(b), index }),
        child_block: row.get::<Option<[u8; 16]>>(8)?.map(BlockId::from_bytes),
        state: word(row, 9, "steps", "state")?,
        reason: optional_word(row, 10, "steps", "reason")?,
        parked: row.get(11)?,
        throttled: row.get(12)?,
        wake_at: time(row, 13)?,
        attempt: row.get(14)?,
        failed_attempts: row.get(15)?,
        lost_attempts: row.get(16)?,
        polls: row.get(17)?,
        polled: polled(row)?,
        max_attempts: row.get(18)?,
        backoff: Backoff {
            delay: span(row, 19, usual.delay)?,
            factor: row.get::<Option<f64>>(20)?.unwrap_or(usual.factor),
            max_delay: span(row, 21, usual.max_delay)?,
        },
        session: row.get::<Option<[u8; 16]>>(22)?.map(SessionId::from_bytes),
        host: optional_shared(row, 23)?,
        tick: row.get(24)?,
        version: row.get::<i64>(25)?.unsigned_abs(),
        created_at: Timestamp(row.get(26)?),
        dispatched_at: time(row, 27)?,
        started_at: time(row, 28)?,
        completed_at: time(row, 29)?,
        arguments: row.text(30)?.into(),
        look: match optional_word(row, 31, "steps", "look")? {
            None => None,
            Some(at) => Some(Look { at, response: row.get::<Option<String>>(32)?.map(Into::into) }),
        },
        pool: optional_shared(row, 33)?,
        member: member(row)?,
        expires_at: time(row, 39)?,
        in_workflow: in_workflow(row)?,
        timeout: row.get::<Option<i64>>(44)?.map(|us| Duration::from_micros(us.unsigned_abs())),
        trace: trace(row, 47, "steps")?,
    })
}

/// A step's part in a message group; without a mode it is done in no order.
fn member(row: &Row) -> Result<Option<Member>> {
    if row.is_null(34)? {
        return Ok(None);
    }
    let id = StepId::from_bytes(row.get(0)?);
    Ok(Some(Member {
        group: row.text(34)?.into(),
        mode: optional_word(row, 35, "steps", "mode")?.unwrap_or(DispatchMode::Immediate),
        sequence: row.get::<Option<i32>>(36)?.unwrap_or(DEFAULT_SEQUENCE),
        place: row.get::<Option<[u8; 16]>>(37)?.map_or(id, StepId::from_bytes),
        // One that ended may stand in the index of its line until that is swept.
        joined: row.get::<i64>(38)? > 0 && !word::<model::State>(row, 9, "steps", "state")?.is_terminal(),
    }))
}

/// A step's part in a workflow.
fn in_workflow(row: &Row) -> Result<Option<InWorkflow>> {
    let workflow = row.get::<Option<[u8; 16]>>(40)?.map(WorkflowId::from_bytes);
    let Some(workflow) = workflow else { return Ok(None) };
    Ok(Some(InWorkflow { workflow, def: row.get(41)?, run: row.get(42)?, item: row.get(43)? }))
}

/// What is known from its polls.
fn polled(row: &Row) -> Result<Option<Arc<Polls>>> {
    let Some(started_at) = time(row, 45)? else { return Ok(None) };
    let data = row.get::<Option<String>>(46)?.map(Into::into);
    Ok(Some(Arc::new(Polls { started_at, data })))
}

/// The trace that something was asked for in.
pub fn trace(row: &Row, i: usize, table: &'static str) -> Result<Option<Arc<Trace>>> {
    Ok(optional_word(row, i, table, "trace")?.map(Arc::new))
}

/// How many columns `step` reads.
pub const STEP_WIDTH: usize = 48;

/// Reads `DETAIL_COLUMNS` that stand behind `STEP_COLUMNS`.
pub fn detail(row: &Row) -> Result<Detail> {
    let at = |i: usize| STEP_WIDTH + i;
    Ok(Detail {
        step_key: row.get(at(0))?,
        label: row.get(at(1))?,
        relatable_type: row.get(at(2))?,
        relatable_id: row.get(at(3))?,
        response: row.get(at(4))?,
        error_message: row.get(at(5))?,
        error_stack_trace: row.get(at(6))?,
        note: row.get(at(7))?,
        superseded_by: row.get::<Option<[u8; 16]>>(at(8))?.map(StepId::from_bytes),
        was_throttled: row.get(at(9))?,
        was_notified: row.get(at(10))?,
        late_reports: row.get(at(11))?,
        block_cleared_at: time(row, at(12))?,
        block_cleared_by: row.get(at(13))?,
        block_cleared_why: row.get(at(14))?,
        branch_key: row.get(at(15))?,
        retry_source: retry_source(row, at(16))?,
    })
}

fn retry_source(row: &Row, i: usize) -> Result<Option<RetrySource>> {
    let Some(word) = row.get::<Option<String>>(i)? else { return Ok(None) };
    let corrupt = |_| StoreError::Corrupt { table: "steps", column: "retry_source", value: word.clone() };
    word.parse().map(Some).map_err(corrupt)
}

/// Reads `SESSION_COLUMNS`.
pub fn session(row: &Row) -> Result<SessionRow> {
    let list = |i: usize, column: &'static str| -> Result<Vec<Name>> {
        let text = row.text(i)?;
        serde_json::from_str(text).map_err(|_| StoreError::Corrupt {
            table: "sessions",
            column,
            value: text.into(),
        })
    };
    Ok(SessionRow {
        id: SessionId::from_bytes(row.get(0)?),
        node: NodeId::from_bytes(row.get(1)?),
        offer: SessionOffer {
            host: shared(row, 2)?,
            queues: list(3, "queues")?,
            actions: list(4, "actions")?,
            capacity: row.get::<i64>(5)?.unsigned_abs() as usize,
            remote: row.get(9)?,
        },
        started_at: Timestamp(row.get(6)?),
        lease_ends_at: Timestamp(row.get(7)?),
        ended_at: time(row, 8)?,
    })
}

/// Reads `BLOCK_COLUMNS`.
pub fn block(row: &Row) -> Result<Block> {
    let list = |i: usize, column: &'static str| -> Result<Vec<u32>> {
        let text: String = row.get(i)?;
        numbers(&text).ok_or(StoreError::Corrupt { table: "blocks", column, value: text })
    };
    let counts = |i: usize, column: &'static str| -> Result<Counts> {
        let mut counts = Counts::default();
        for (state, n) in Counts::COUNTED.iter().zip(list(i, column)?) {
            *counts.of_mut(*state) = n;
        }
        Ok(counts)
    };
    let sweep_id: Option<[u8; 16]> = row.get(19)?;
    let sweep_index: Option<u32> = row.get(18)?;
    let sweep = match optional_word(row, 15, "blocks", "sweep_kind")? {
        None => None,
        Some(kind) => Some(Sweep {
            kind,
            event: word(row, 16, "blocks", "sweep_event")?,
            above: row.get(17)?,
            after: sweep_index.zip(sweep_id.map(StepId::from_bytes)),
        }),
    };
    let blame: String = row.get(14)?;
    Ok(Block {
        id: BlockId::from_bytes(row.get(0)?),
        owner: row.get::<Option<[u8; 16]>>(1)?.map(StepId::from_bytes),
        home: DispatchGroup(shared(row, 2)?),
        success: word(row, 3, "blocks", "success")?,
        depth: row.get(4)?,
        steps: counts(5, "steps")?,
        resolvers: counts(6, "resolvers")?,
        live: list(7, "live")?,
        live_resolvers: list(8, "live_resolvers")?,
        current_index: row.get(9)?,
        resolver_index: row.get(10)?,
        cut_at: row.get(11)?,
        resolver_cut_at: row.get(12)?,
        wants_resolvers: row.get(13)?,
        blame: blame.split_whitespace().filter_map(|id| id.parse().ok()).collect(),
        sweep,
        touched: row.get(20)?,
        version: row.get::<i64>(21)?.unsigned_abs(),
        to_come: row.get(22)?,
        held: row.get(23)?,
    })
}

/// Comma-separated numbers, as short as they can be.
pub fn join(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut out = String::new();
    for n in numbers {
        if !out.is_empty() {
            out.push(',');
        }
        out += &n.to_string();
    }
    out
}

pub fn counts_text(counts: &Counts) -> String {
    let all = Counts::COUNTED.map(|s| counts.of(s));
    let used = all.iter().rposition(|n| *n > 0).map_or(0, |i| i + 1);
    join(all[..used].iter().copied())
}

fn numbers(text: &str) -> Option<Vec<u32>> {
    text.split(',').filter(|t| !t.is_empty()).map(|t| t.parse().ok()).collect()
}

/// What a row of the claim log names: steps with their attempts.
pub fn pairs(text: &str) -> Option<Vec<(StepId, u32)>> {
    let words: Vec<&str> = serde_json::from_str(text).ok()?;
    let pair = |word: &&str| {
        let (id, attempt) = word.split_once(':')?;
        Some((id.parse().ok()?, attempt.parse().ok()?))
    };
    words.iter().map(pair).collect()
}
