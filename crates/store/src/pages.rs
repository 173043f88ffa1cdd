//! A long reading a page at a time, each behind the last row of the one before.
//!
//! Why    a connection answers one statement at a time; between two pages others can be put to it, and a reading that has
//!        seen enough stops without the rest.

use crate::Result;
use crate::sql::{Param, Row, Sql};
use std::borrow::Cow;
use std::collections::VecDeque;

const ROWS_PER_PAGE: usize = 1_000;

/// Where a row stands in the order of its reading.
pub type Key = Vec<Param<'static>>;

/// Before every id.
pub const BEFORE_ALL: Param<'static> = Param::Blob(Cow::Borrowed(&[]));

pub struct Pages<'a, T> {
    sql: &'a dyn Sql,
    /// Takes the key it begins behind as its first parameters, and how many rows as its last.
    text: String,
    after: Key,
    read: fn(&Row) -> Result<T>,
    key: fn(&T) -> Key,
    page: VecDeque<T>,
    is_last: bool,
}

impl<'a, T> Pages<'a, T> {
    pub fn new(
        sql: &'a dyn Sql,
        text: impl Into<String>,
        after: &[Param<'static>],
        read: fn(&Row) -> Result<T>,
        key: fn(&T) -> Key,
    ) -> Pages<'a, T> {
        let (text, after) = (text.into(), after.to_vec());
        Pages { sql, text, after, read, key, page: VecDeque::new(), is_last: false }
    }

    pub fn next(&mut self) -> Result<Option<T>> {
        if self.page.is_empty() && !self.is_last {
            let mut params = self.after.clone();
            params.push(ROWS_PER_PAGE.into());
            self.page = self.sql.rows(&self.text, &params, self.read)?.into();
            self.is_last = self.page.len() < ROWS_PER_PAGE;
            if let Some(row) = self.page.back() {
                self.after = (self.key)(row);
            }
        }
        Ok(self.page.pop_front())
    }
}
