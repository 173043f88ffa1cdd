//! How far one page looks: a list over history is looked through by so many rows at a time, however rare what is asked for is.
//!
//! Why    steps that ended are in no index but that of their ids, so that nothing costs more for them. Whoever asks for the few of
//!        them that were stopped would read a million rows; with an end to each page they read what a page may cost, and go on.

use super::Browse;
use crate::{Result, params};
use model::{Timestamp, limits};

/// Lists that are ordered by ids, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    Steps,
    Workflows,
}

impl Listed {
    fn table(self) -> &'static str {
        match self {
            Listed::Steps => "steps",
            Listed::Workflows => "workflows",
        }
    }
}

impl Browse {
    /// The last row that one page looks at behind another, or from the newest on; none if the list ends before.
    pub fn reach(&self, list: Listed, after: Option<[u8; 16]>) -> Result<Option<[u8; 16]>> {
        let sql = format!(
            "select id from {} where id < $1 order by id desc limit 1 offset {}",
            list.table(),
            limits::LOOKED_THROUGH_MAX - 1
        );
        self.sql().first(&sql, params![after.unwrap_or([0xff; 16])], |row| row.get(0))
    }

    /// The same for executions, which are ordered by when they were begun.
    pub fn executions_reach(&self, before: Option<Timestamp>) -> Result<Option<Timestamp>> {
        let sql = format!(
            "select created_at from executions where created_at <= $1 order by created_at desc limit 1 offset {}",
            limits::LOOKED_THROUGH_MAX - 1
        );
        let before = before.unwrap_or(Timestamp(i64::MAX));
        self.sql().first(&sql, params![before], |row| Ok(Timestamp(row.get(0)?)))
    }
}
