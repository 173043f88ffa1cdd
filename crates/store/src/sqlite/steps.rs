//! Writes steps: a new row, a whole row, or no more of it than the common ends change.

use super::commit::micros;
use super::statements as sql;
use crate::batch::Narrow;
use crate::{Result, StepWrite, StoreError};
use model::Backoff;
use rusqlite::{CachedStatement, Connection, params};

pub fn write(tx: &Connection, steps: &[StepWrite]) -> Result<()> {
    let mut new = tx.prepare_cached(sql::INSERT_STEP)?;
    let mut whole = tx.prepare_cached(sql::WRITE_STEP)?;
    let mut end = tx.prepare_cached(sql::END_STEP)?;
    let mut park = tx.prepare_cached(sql::PARK_STEP)?;
    let mut end_parked = tx.prepare_cached(sql::END_PARKED)?;
    for write in steps {
        let Some(expected) = write.expected else {
            insert(&mut new, write)?;
            continue;
        };
        let changed = match write.narrow() {
            Some(Narrow::End) => end_step(&mut end, write, expected)?,
            Some(Narrow::Park) => park_step(&mut park, write, expected)?,
            Some(Narrow::EndParked) => end_parked.execute(params![
                micros(write.step.completed_at),
                write.step.id.bytes(),
                expected as i64
            ])?,
            None => whole_step(&mut whole, write, expected)?,
        };
        if changed != 1 {
            return Err(StoreError::Lost { what: format!("step {}", write.step.id) });
        }
    }
    Ok(())
}

fn insert(statement: &mut CachedStatement, write: &StepWrite) -> Result<()> {
    let (s, d) = (&write.step, &write.detail);
    let usual = Backoff::default();
    let backoff = (s.backoff != usual).then_some(&s.backoff);
    statement.execute(params![
        s.id.bytes(),
        s.dispatch_group.as_str(),
        &*s.queue,
        &*s.action,
        s.priority.word(),
        s.kind.word(),
        s.place.as_ref().map(|p| p.block.bytes()),
        s.index(),
        s.child_block.as_ref().map(|b| b.bytes()),
        s.state.word(),
        s.reason.map(|r| r.word()),
        micros(s.wake_at),
        s.attempt,
        s.max_attempts,
        backoff.map(|b| b.delay.as_micros() as i64),
        backoff.map(|b| b.factor),
        backoff.map(|b| b.max_delay.as_micros() as i64),
        s.session.as_ref().map(|x| x.bytes()),
        s.host.as_deref(),
        s.tick,
        s.version as i64,
        s.created_at.0,
        micros(s.dispatched_at),
        micros(s.started_at),
        micros(s.completed_at),
        &*s.arguments,
        d.note.as_deref(),
        d.step_key.as_deref(),
        d.label.as_deref(),
        d.relatable_type.as_deref(),
        d.relatable_id.as_deref(),
        s.parked,
        d.response.as_deref()
    ])?;
    Ok(())
}

fn end_step(statement: &mut CachedStatement, write: &StepWrite, expected: u64) -> Result<usize> {
    let s = &write.step;
    Ok(statement.execute(params![
        s.attempt,
        s.host.as_deref(),
        s.tick,
        micros(s.dispatched_at),
        micros(s.started_at),
        micros(s.completed_at),
        write.detail.response.as_deref(),
        s.id.bytes(),
        expected as i64
    ])?)
}

fn park_step(statement: &mut CachedStatement, write: &StepWrite, expected: u64) -> Result<usize> {
    let s = &write.step;
    Ok(statement.execute(params![
        s.attempt,
        s.host.as_deref(),
        s.tick,
        micros(s.dispatched_at),
        micros(s.started_at),
        write.detail.response.as_deref(),
        s.id.bytes(),
        expected as i64
    ])?)
}

fn whole_step(statement: &mut CachedStatement, write: &StepWrite, expected: u64) -> Result<usize> {
    let (s, d) = (&write.step, &write.detail);
    Ok(statement.execute(params![
        s.state.word(),
        s.reason.map(|r| r.word()),
        s.parked,
        s.throttled,
        micros(s.wake_at),
        s.attempt,
        s.failed_attempts,
        s.lost_attempts,
        s.polls,
        s.priority.word(),
        s.child_block.as_ref().map(|b| b.bytes()),
        s.session.as_ref().map(|x| x.bytes()),
        s.host.as_deref(),
        s.tick,
        micros(s.dispatched_at),
        micros(s.started_at),
        micros(s.completed_at),
        d.response.as_deref(),
        d.error_message.as_deref(),
        d.error_stack_trace.as_deref(),
        d.note.as_deref(),
        d.superseded_by.as_ref().map(|x| x.bytes()),
        d.was_throttled,
        d.was_notified,
        d.late_reports.unwrap_or(0),
        s.id.bytes(),
        expected as i64
    ])?)
}
