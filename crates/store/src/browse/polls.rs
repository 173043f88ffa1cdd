//! Polls as people read them: steps that wait for their next one, and what came of the last.

use super::{Browse, StepRow};
use crate::sql::Row;
use crate::{Result, StoreError, params};
use model::{PollAttempt, PollVerdict, StepId, Timestamp, limits};
use std::time::Duration;

/// Which steps that wait for their next poll.
#[derive(Clone, Debug, Default)]
pub struct PollFilter {
    /// Only those that are due by then.
    pub due_at: Option<Timestamp>,
    /// Behind this one: when it is due, and which it is.
    pub after: Option<(Timestamp, StepId)>,
    pub limit: usize,
}

impl Browse {
    /// Steps that wait for their next poll, the one that is due first in front.
    pub fn polling(&self, filter: &PollFilter) -> Result<Vec<StepRow>> {
        let due = filter.due_at.unwrap_or(Timestamp(i64::MAX));
        let (at, id) = filter.after.unwrap_or((Timestamp(i64::MIN), StepId::from_bytes([0; 16])));
        let limit = filter.limit.clamp(1, limits::PAGE_ROWS_MAX + 1);
        let tail = format!(
            "where state = 'polling' and wake_at <= $1 and (wake_at, id) > ($2, $3) order by wake_at, id limit {limit}"
        );
        self.query_rows("steps", &tail, params![due, at, id])
    }

    /// The polls of a step that are on record, oldest first.
    pub fn polls(&self, step: StepId) -> Result<Vec<PollAttempt>> {
        let sql = format!(
            "select number, attempt, result_complete, result_continue, next_interval_ms, executed_at, data
               from poll_attempts where step_id = $1 order by number desc limit {}",
            limits::POLLS_KEPT_MAX
        );
        let mut polls = self.sql().rows(&sql, params![step], |row| read(row, step))?;
        polls.reverse();
        Ok(polls)
    }
}

fn read(row: &Row, step: StepId) -> Result<PollAttempt> {
    let verdict = match (row.get::<i64>(2)?, row.get::<i64>(3)?) {
        (1, 0) => PollVerdict::Complete,
        (0, 1) => PollVerdict::Continue,
        (0, 0) => PollVerdict::Abort,
        (complete, goes_on) => {
            let value = format!("{complete} and {goes_on}");
            return Err(StoreError::Corrupt { table: "poll_attempts", column: "result_complete", value });
        }
    };
    Ok(PollAttempt {
        step,
        number: row.get(0)?,
        attempt: row.get(1)?,
        verdict,
        next_interval: row.get::<Option<u64>>(4)?.map(Duration::from_millis),
        at: Timestamp(row.get(5)?),
        data: row.get(6)?,
    })
}
