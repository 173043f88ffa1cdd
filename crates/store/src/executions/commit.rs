//! Many orders in one commit; one that cannot be stored spoils only itself.

use super::carry_out::carry_out;
use super::{Done, Order, Told};
use crate::audit;
use crate::sql::{Access, Sql};
use crate::{AuditEntry, Result};
use model::Timestamp;

/// An order with whoever waits for its answer.
pub struct Call {
    pub order: Order,
    pub at: Timestamp,
    pub done: Done,
}

/// All of them or none; `before` is said first, where the database wants to be told something.
pub(crate) fn in_one_commit(sql: &dyn Sql, calls: &[Call], before: Option<&str>) -> Result<Vec<Told>> {
    sql.transaction(Access::Write, |sql| {
        before.map(|text| sql.execute(text, &[])).transpose()?;
        let mut record: Vec<(Timestamp, AuditEntry)> = Vec::new();
        let mut told = Vec::with_capacity(calls.len());
        for call in calls {
            let (answer, entry) = carry_out(sql, &call.order, call.at)?;
            record.extend(entry.map(|entry| (call.at, entry)));
            told.push(answer);
        }
        audit::append(sql, record.iter().map(|(at, entry)| (*at, entry)))?;
        Ok(told)
    })
}

/// Carry out all in one commit, and when that fails, each in its own.
pub(crate) fn answer_each(sql: &dyn Sql, calls: Vec<Call>) {
    match in_one_commit(sql, &calls, None) {
        Ok(told) => calls.into_iter().zip(told).for_each(|(call, told)| (call.done)(Ok(told))),
        Err(problem) if calls.len() == 1 => {
            calls.into_iter().for_each(|call| (call.done)(Err(problem.clone())));
        }
        Err(_) => calls.into_iter().for_each(|call| answer_each(sql, vec![call])),
    }
}
