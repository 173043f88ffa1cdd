//! A database that was put back from a copy: nothing of it is handed out before somebody has looked.
//!
//! Why    time has passed for the world and not for the copy. What it calls ready may be done, and whoever held something of it may
//!        hold something else. So the breaker goes off, nobody from before it holds anything any more, and messages that it calls
//!        published are not waited for. The breaker is what every way out asks; switching it on is what confirms.

use crate::settings::{global_breaker, put_setting, setting};
use crate::sql::{Access, Sql};
use crate::{AuditEntry, Browse, Result, StoreError, audit, leases, params};
use model::Timestamp;
use rules::restored;
use serde::{Deserialize, Serialize};

pub const MARK: &str = "restored";

/// What stands in a copy until somebody confirms it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// When the copy was made.
    pub taken_at: Timestamp,
    /// When it was first opened to decide, and held.
    #[serde(default)]
    pub held_at: Option<Timestamp>,
}

impl Browse {
    /// Whether this is a copy that nobody has confirmed.
    pub fn restored(&self) -> Result<Option<Restored>> {
        find(self.sql())
    }
}

pub fn find(sql: &dyn Sql) -> Result<Option<Restored>> {
    let Some(text) = setting(sql, MARK)? else { return Ok(None) };
    let strange = |_| StoreError::Corrupt { table: "settings", column: MARK, value: text.clone() };
    serde_json::from_str(&text).map(Some).map_err(strange)
}

/// Write into a copy that it is one.
pub fn mark(sql: &dyn Sql, restored: Restored) -> Result<()> {
    put_setting(sql, MARK, &serde_json::to_string(&restored).unwrap_or_default())
}

/// Before anything is decided: a copy that is opened for the first time is held.
pub fn look(sql: &dyn Sql, now: Timestamp) -> Result<()> {
    if find(sql)?.is_none_or(|known| known.held_at.is_some()) {
        return Ok(());
    }
    sql.transaction(Access::Alone, |sql| match find(sql)? {
        // Another node may have been first.
        Some(known) if known.held_at.is_none() => hold(sql, known.taken_at, now),
        _ => Ok(()),
    })
}

/// Within a transaction: off, and whoever is on record as holding something is not any more.
pub fn hold(sql: &dyn Sql, taken_at: Timestamp, now: Timestamp) -> Result<()> {
    let (before, after) = (global_breaker(sql)?, restored::breaker(taken_at, now));
    let text = |breaker| serde_json::to_string(breaker).unwrap_or_default();
    put_setting(sql, "breaker", &text(&after))?;
    mark(sql, Restored { taken_at, held_at: Some(now) })?;
    leases::end_all(sql, now)?;
    sql.execute("update sessions set ended_at = $1 where ended_at is null", params![now])?;
    sql.execute("update dispatch_groups set epoch = epoch + 1, published_to = null", params![])?;
    sql.execute("delete from browser_sessions", params![])?;
    let why = after.why.clone().unwrap_or_default();
    tracing::error!(taken_at = taken_at.0, "nothing is dispatched: {why}");
    let entry = AuditEntry {
        who: restored::BY.into(),
        verb: "breaker off".into(),
        target: "breaker".into(),
        why: Some(why),
        before: Some(text(&before)),
        after: Some(text(&after)),
    };
    audit::append(sql, [(now, &entry)])
}
