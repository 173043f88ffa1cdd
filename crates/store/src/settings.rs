//! Single values everyone shares, above all the breaker.

use crate::sql::{Access, Sql};
use crate::{Result, StoreError, params, statements};
use model::Breaker;

pub fn setting(sql: &dyn Sql, name: &str) -> Result<Option<String>> {
    sql.first("select value from settings where name = $1", params![name], |r| r.get(0))
}

pub fn put_setting(sql: &dyn Sql, name: &str, value: &str) -> Result<()> {
    sql.execute(statements::PUT_SETTING, params![name, value])?;
    Ok(())
}

/// Several settings at once.
pub fn announce(sql: &dyn Sql, settings: &[(&'static str, String)]) -> Result<()> {
    sql.transaction(Access::Write, |sql| {
        settings.iter().try_for_each(|(name, value)| put_setting(sql, name, value))
    })
}

/// The breaker over all dispatch groups.
pub fn global_breaker(sql: &dyn Sql) -> Result<Breaker> {
    setting(sql, "breaker")?.map_or(Ok(Breaker::default()), |text| read_breaker(&text))
}

pub fn read_breaker(text: &str) -> Result<Breaker> {
    serde_json::from_str(text).map_err(|_| StoreError::Corrupt {
        table: "dispatch_groups",
        column: "breaker",
        value: text.into(),
    })
}
