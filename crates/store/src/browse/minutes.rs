//! What nodes did minute by minute, for charts.

use super::Browse;
use crate::sql::Row;
use crate::{Result, StoreError, params};
use model::{Minute, Spread, Timestamp, limits};

impl Browse {
    /// The minutes of all nodes since then, oldest first; of one minute there may be several.
    pub fn minutes(&self, since: Timestamp) -> Result<Vec<Minute>> {
        let sql = format!(
            "select at, created, started, completed, failed, ended, waits, runs from minutes where at >= $1 order by at limit {}",
            limits::MINUTES_READ_MAX
        );
        self.sql().rows(&sql, params![since], read)
    }
}

fn read(row: &Row) -> Result<Minute> {
    let count = |i: usize| -> Result<u64> { Ok(row.get::<i64>(i)?.unsigned_abs()) };
    Ok(Minute {
        at: Timestamp(row.get(0)?),
        created: count(1)?,
        started: count(2)?,
        completed: count(3)?,
        failed: count(4)?,
        ended: count(5)?,
        waits: spread(row, 6, "waits")?,
        runs: spread(row, 7, "runs")?,
    })
}

fn spread(row: &Row, at: usize, column: &'static str) -> Result<Spread> {
    let text = row.text(at)?;
    serde_json::from_str(text).map_err(|_| StoreError::Corrupt {
        table: "minutes",
        column,
        value: text.into(),
    })
}
