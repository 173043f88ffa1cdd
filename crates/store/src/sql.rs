//! The little of SQL that both databases share: parameters, rows, and a connection that runs statements.
//!
//! Why    what people read, what `check` recounts and what retention removes is one text for both databases. Statements
//!        name their parameters `$1`, `$2`, …; times are microseconds, ids are bytes, flags are 0 and 1. Only the commit of a
//!        turn, the one hot write, is written for each database apart.

use crate::{Result, StoreError};
use model::{
    BlockId, FlowId, KeyId, NodeId, OwnerToken, SessionId, SignalId, StepId, SubscriptionId, Timestamp,
    WorkflowId,
};
use std::borrow::Cow;

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
}

pub trait Cells {
    fn cell(&self, i: usize) -> Result<Cell<'_>>;
}

/// A row of whichever database.
pub type Row<'a> = dyn Cells + 'a;

impl<'a> dyn Cells + 'a {
    pub fn get<T: FromCell>(&self, i: usize) -> Result<T> {
        let cell = self.cell(i)?;
        T::from_cell(cell)
            .ok_or_else(|| StoreError::Down(format!("column {i} holds {cell:?}, which is of another type")))
    }
    pub fn text(&self, i: usize) -> Result<&str> {
        match self.cell(i)? {
            Cell::Text(text) => Ok(text),
            other => Err(StoreError::Down(format!("column {i} holds {other:?}, which is of another type"))),
        }
    }
    pub fn is_null(&self, i: usize) -> Result<bool> {
        Ok(self.cell(i)? == Cell::Null)
    }
}

pub trait FromCell: Sized {
    fn from_cell(cell: Cell<'_>) -> Option<Self>;
}

macro_rules! from_int {
    ($($t:ty),+) => {$(
        impl FromCell for $t {
            fn from_cell(cell: Cell<'_>) -> Option<Self> {
                match cell {
                    Cell::Int(n) => n.try_into().ok(),
                    _ => None,
                }
            }
        }
    )+};
}
from_int!(i64, i32, u32, u64, usize);

impl FromCell for bool {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        i64::from_cell(cell).map(|n| n != 0)
    }
}
impl FromCell for f64 {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Real(x) => Some(x),
            Cell::Int(n) => Some(n as f64),
            _ => None,
        }
    }
}
impl FromCell for String {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Text(text) => Some(text.into()),
            _ => None,
        }
    }
}
impl FromCell for Vec<u8> {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Blob(bytes) => Some(bytes.into()),
            _ => None,
        }
    }
}
impl FromCell for [u8; 16] {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Blob(bytes) => bytes.try_into().ok(),
            _ => None,
        }
    }
}
impl<T: FromCell> FromCell for Option<T> {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Null => Some(None),
            other => T::from_cell(other).map(Some),
        }
    }
}

/// A value for a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Param<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
}

macro_rules! param {
    ($($t:ty => |$v:ident| $as:expr;)+) => {$(
        impl<'a> From<$t> for Param<'a> {
            fn from($v: $t) -> Self {
                $as
            }
        }
    )+};
}
param! {
    i64 => |v| Param::Int(v);
    u32 => |v| Param::Int(v.into());
    u64 => |v| Param::Int(v as i64);
    usize => |v| Param::Int(v as i64);
    bool => |v| Param::Int(v.into());
    f64 => |v| Param::Real(v);
    Timestamp => |v| Param::Int(v.0);
    String => |v| Param::Text(v.into());
    &'a str => |v| Param::Text(v.into());
    &'a String => |v| Param::Text(v.as_str().into());
    Vec<u8> => |v| Param::Blob(v.into());
    &'a [u8] => |v| Param::Blob(v.into());
    &'a [u8; 16] => |v| Param::Blob(v.as_slice().into());
    [u8; 16] => |v| Param::Blob(v.to_vec().into());
    StepId => |v| Param::Blob(v.bytes().to_vec().into());
    BlockId => |v| Param::Blob(v.bytes().to_vec().into());
    SessionId => |v| Param::Blob(v.bytes().to_vec().into());
    NodeId => |v| Param::Blob(v.bytes().to_vec().into());
    SignalId => |v| Param::Blob(v.bytes().to_vec().into());
    WorkflowId => |v| Param::Blob(v.bytes().to_vec().into());
    SubscriptionId => |v| Param::Blob(v.bytes().to_vec().into());
    KeyId => |v| Param::Blob(v.bytes().to_vec().into());
    FlowId => |v| Param::Blob(v.bytes().to_vec().into());
    OwnerToken => |v| Param::Blob(v.bytes().to_vec().into());
}
impl<'a, T: Into<Param<'a>>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Param::Null, Into::into)
    }
}

impl Param<'_> {
    /// The same value, independent of what it was taken from.
    pub fn to_static(&self) -> Param<'static> {
        match self {
            Param::Null => Param::Null,
            Param::Int(n) => Param::Int(*n),
            Param::Real(x) => Param::Real(*x),
            Param::Text(text) => Param::Text(Cow::Owned(text.to_string())),
            Param::Blob(bytes) => Param::Blob(Cow::Owned(bytes.to_vec())),
        }
    }
}

/// Many ids as one value, sixteen bytes each.
pub fn packed(ids: &[[u8; 16]]) -> Param<'static> {
    Param::Blob(ids.concat().into())
}

/// `params![id, now]`: values for `$1`, `$2`, …
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$($crate::sql::Param::from($value)),*] as &[$crate::sql::Param]
    };
}

/// A connection that runs statements, whichever the database.
pub trait Sql {
    /// Each row of a statement, in order.
    fn each(&self, sql: &str, params: &[Param], look: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()>;
    /// How many rows it changed.
    fn execute(&self, sql: &str, params: &[Param]) -> Result<u64>;
    /// Begin a transaction: one moment for reading, or the right to write.
    fn begin(&self, access: Access) -> Result<()>;
    fn commit(&self) -> Result<()>;
    fn rollback(&self) -> Result<()>;
    /// A condition: the column is one of the ids that a parameter packs (see `packed`).
    fn is_among(&self, column: &str, parameter: usize) -> String;
    /// Wait until no other transaction appends to the audit; nobody else does until this one has ended.
    fn hold_audit(&self) -> Result<()> {
        Ok(())
    }
    /// Tell what is damaged in how the database is stored, where it is this program's part to look.
    fn sound(&self, _tell: &mut dyn FnMut(String)) -> Result<()> {
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// To write while no turn of any node is stored.
    Alone,
}

impl<'a> dyn Sql + 'a {
    pub fn rows<T>(
        &self,
        sql: &str,
        params: &[Param],
        mut read: impl FnMut(&Row) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut out = Vec::new();
        self.each(sql, params, &mut |row| {
            out.push(read(row)?);
            Ok(())
        })?;
        Ok(out)
    }
    /// The first row, if there is one.
    pub fn first<T>(
        &self,
        sql: &str,
        params: &[Param],
        read: impl FnMut(&Row) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.rows(sql, params, read)?.into_iter().next())
    }
    /// The one value of the one row.
    pub fn value<T: FromCell>(&self, sql: &str, params: &[Param]) -> Result<T> {
        self.first(sql, params, |row| row.get(0))?
            .ok_or_else(|| StoreError::Down(format!("no row where one must be: {sql}")))
    }
    /// Everything or nothing.
    pub fn transaction<T>(&self, access: Access, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        self.begin(access)?;
        let outcome = match access {
            Access::Read => work(self),
            Access::Write | Access::Alone => work(self).and_then(|done| self.commit().map(|()| done)),
        };
        if access == Access::Read || outcome.is_err() {
            // A reading has nothing to keep, and a damaged file may not take a commit. What went wrong first is what is told.
            let _ = self.rollback();
        }
        outcome
    }
}
