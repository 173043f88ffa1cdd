//! Signals that were not heard yet, for whoever must know what they say before it is their turn.

use crate::sql::Sql;
use crate::{Result, SignalRow, SignalTo, params};
use model::{DispatchGroup, SignalId};

/// What waits for the owner of a dispatch group and begins so, the oldest first.
pub fn unheard(sql: &dyn Sql, group: &DispatchGroup, beginning: &str) -> Result<Vec<SignalRow>> {
    let text = "select id, body from signals
                 where answered_at is null and dispatch_group = $1 and substr(body, 1, $2) = $3 order by id";
    let n = beginning.chars().count();
    sql.rows(text, params![group.as_str(), n, beginning], |row| {
        let to = SignalTo::Group(group.clone());
        Ok(SignalRow { id: SignalId::from_bytes(row.get(0)?), to, from: None, body: row.get(1)? })
    })
}
