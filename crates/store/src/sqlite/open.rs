//! The database as a file: opened for reading, or migrated without deciding anything.

use super::migrate::{migrate as apply_missing, state};
use super::{OpenMode, connect};
use crate::{Browse, MigrationState, Result, StoreError};
use model::Timestamp;
use rusqlite::Connection;
use std::path::Path;

impl Browse {
    /// Open a file for reading; one that was never migrated is refused with what to do.
    pub fn open(path: &Path) -> Result<Browse> {
        Ok(Browse::new(Box::new(reader(path)?), path.display().to_string()))
    }
}

pub fn reader(path: &Path) -> Result<Connection> {
    if !path.exists() {
        let fix = "start `stepfast serve` or run `stepfast migrate` to make it";
        return Err(StoreError::Refused(format!("there is no database at {}; {fix}", path.display())));
    }
    let connection = connect::open(path, OpenMode::Reader)?;
    let state = state(&connection)?;
    if state.applied < state.known {
        let fix = "run `stepfast migrate`";
        return Err(StoreError::Refused(format!("the database is older than this program; {fix}")));
    }
    Ok(connection)
}

/// Apply what is missing, or only say how far the file is: the `migrate` command.
pub fn migrate_file(path: &Path, now: Timestamp, apply: bool) -> Result<MigrationState> {
    if apply {
        return apply_missing(&mut connect::open(path, OpenMode::Writer)?, now);
    }
    if !path.exists() {
        return Err(StoreError::Refused(format!("there is no database at {}", path.display())));
    }
    state(&connect::open(path, OpenMode::Reader)?)
}
