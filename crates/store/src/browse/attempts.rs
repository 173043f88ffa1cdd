//! The attempts of a step as people read them: all at a glance, or page by page with what the target said.

use super::Browse;
use crate::batch::Attempt;
use crate::sql::Row;
use crate::{Result, StoreError, params, rows};
use model::{Delivery, SessionId, StepId, Timestamp, limits};
use std::str::FromStr;

/// Characters of a target's answer that are seen at a glance.
const GLANCE_CHARS: usize = 1_000;
/// Attempts that are read at once with all that their targets said.
pub const ATTEMPTS_PAGE_MAX: usize = 100;

/// Where an attempt stands among those of its step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptKey {
    pub attempt: u32,
    pub at: Timestamp,
    pub outcome: String,
}

impl AttemptKey {
    pub fn of(attempt: &Attempt) -> AttemptKey {
        AttemptKey { attempt: attempt.attempt, at: attempt.at, outcome: attempt.outcome.clone() }
    }
}

const COLUMNS: &str = "attempt, at, session_id, host, started_at, outcome, message, delivery_status, http_code, \
    error_type, duration_ms";

impl Browse {
    /// The last of them, oldest first, with how each answer begins.
    pub fn attempts(&self, step: StepId) -> Result<Vec<Attempt>> {
        let sql = format!(
            "select {COLUMNS}, substr(response_body, 1, {GLANCE_CHARS}) from step_attempts
              where step_id = $1 order by attempt desc, at desc, outcome desc limit {}",
            limits::PAGE_ROWS_MAX
        );
        let mut attempts = self.sql().rows(&sql, params![step], |row| read(row, step))?;
        attempts.reverse();
        Ok(attempts)
    }

    /// Those behind this one, oldest first and whole; at most a hundred.
    pub fn attempts_after(
        &self,
        step: StepId,
        after: Option<&AttemptKey>,
        limit: usize,
    ) -> Result<Vec<Attempt>> {
        let sql = format!(
            "select {COLUMNS}, response_body from step_attempts
              where step_id = $1 and (attempt, at, outcome) > ($2, $3, $4)
              order by attempt, at, outcome limit {}",
            limit.clamp(1, ATTEMPTS_PAGE_MAX + 1)
        );
        let (attempt, at, outcome) =
            after.map_or((-1_i64, Timestamp(0), ""), |k| (k.attempt.into(), k.at, &*k.outcome));
        self.sql().rows(&sql, params![step, attempt, at, outcome], |row| read(row, step))
    }
}

fn read(row: &Row, step: StepId) -> Result<Attempt> {
    let (at, started_at) = (Timestamp(row.get(1)?), rows::time(row, 4)?);
    let delivery = match row.get::<Option<String>>(7)? {
        None => None,
        Some(status) => Some(Delivery {
            status: word("delivery_status", &status)?,
            http_code: row.get::<Option<u32>>(8)?.and_then(|code| code.try_into().ok()),
            error_type: row.get::<Option<String>>(9)?.map(|text| word("error_type", &text)).transpose()?,
            response_body: row.get(11)?,
            started_at: started_at.unwrap_or(at),
            duration_ms: row.get::<Option<u64>>(10)?.unwrap_or_default(),
        }),
    };
    Ok(Attempt {
        step,
        attempt: row.get(0)?,
        at,
        session: row.get::<Option<[u8; 16]>>(2)?.map(SessionId::from_bytes),
        host: rows::optional_shared(row, 3)?,
        started_at,
        outcome: row.get(5)?,
        message: row.get(6)?,
        delivery,
    })
}

fn word<T: FromStr>(column: &'static str, text: &str) -> Result<T> {
    text.parse().map_err(|_| StoreError::Corrupt { table: "step_attempts", column, value: text.into() })
}
