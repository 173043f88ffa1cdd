//! SQLite as a connection that runs shared statements.

use crate::sql::{Access, Cell, Cells, Param, Row, Sql};
use crate::{Result, StoreError};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, ToSql};

impl Cells for rusqlite::Row<'_> {
    fn cell(&self, i: usize) -> Result<Cell<'_>> {
        Ok(match self.get_ref(i)? {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(n) => Cell::Int(n),
            ValueRef::Real(x) => Cell::Real(x),
            ValueRef::Text(text) => {
                Cell::Text(std::str::from_utf8(text).map_err(|e| StoreError::Down(e.to_string()))?)
            }
            ValueRef::Blob(bytes) => Cell::Blob(bytes),
        })
    }
}

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Param::Null => ToSqlOutput::Owned(Value::Null),
            Param::Int(n) => ToSqlOutput::Owned(Value::Integer(*n)),
            Param::Real(x) => ToSqlOutput::Owned(Value::Real(*x)),
            // As PostgreSQL must, so that both say the same.
            Param::Text(text) if text.contains('\0') => {
                ToSqlOutput::Owned(Value::Text(text.replace('\0', "\u{fffd}")))
            }
            Param::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Param::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

/// A parameter's number is that of its first appearance here, so each is bound by its name.
fn bind(statement: &mut CachedStatement, params: &[Param]) -> Result<()> {
    for (i, param) in params.iter().enumerate() {
        if let Some(at) = statement.parameter_index(&format!("${}", i + 1))? {
            statement.raw_bind_parameter(at, param)?;
        }
    }
    Ok(())
}

impl Sql for Connection {
    fn each(&self, sql: &str, params: &[Param], look: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        let mut statement = self.prepare_cached(sql)?;
        bind(&mut statement, params)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            look(row)?;
        }
        Ok(())
    }
    fn execute(&self, sql: &str, params: &[Param]) -> Result<u64> {
        let mut statement = self.prepare_cached(sql)?;
        bind(&mut statement, params)?;
        Ok(statement.raw_execute()? as u64)
    }
    fn begin(&self, access: Access) -> Result<()> {
        let sql = if access == Access::Read { "begin" } else { "begin immediate" };
        Ok(self.execute_batch(sql)?)
    }
    fn commit(&self) -> Result<()> {
        Ok(self.execute_batch("commit")?)
    }
    fn rollback(&self) -> Result<()> {
        Ok(self.execute_batch("rollback")?)
    }
    fn is_among(&self, column: &str, parameter: usize) -> String {
        let p = parameter;
        format!(
            "{column} in (with recursive packed(at, id) as (
                select 1, substr(${p}, 1, 16) where length(${p}) > 0
                union all select at + 16, substr(${p}, at + 16, 16) from packed where at + 16 < length(${p}))
              select packed.id from packed)"
        )
    }
    fn sound(&self, tell: &mut dyn FnMut(String)) -> Result<()> {
        self.each("pragma quick_check", &[], &mut |row| {
            let told = row.text(0)?;
            if told != "ok" {
                tell(told.into());
            }
            Ok(())
        })
    }
}
