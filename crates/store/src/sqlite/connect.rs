//! Opens a connection the way Stepfast needs it: durable, bounded, and never with a library that is known to corrupt.

use crate::{Result, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// Libraries before this one can corrupt a database in WAL mode.
const OLDEST_LIBRARY: i32 = 3_051_003;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    Writer,
    Reader,
}

pub fn library_version() -> &'static str {
    rusqlite::version()
}

fn sound(number: i32, version: &str) -> Result<()> {
    if number >= OLDEST_LIBRARY {
        return Ok(());
    }
    Err(StoreError::Refused(format!("SQLite {version} is too old; 3.51.3 or newer is needed")))
}

pub fn open(path: &Path, mode: OpenMode) -> Result<Connection> {
    sound(rusqlite::version_number(), rusqlite::version())?;
    if mode == OpenMode::Writer {
        make_private(path)?;
    }
    let flags = match mode {
        OpenMode::Writer => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        OpenMode::Reader => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|e| StoreError::Down(format!("cannot open {}: {e}", path.display())))?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.set_prepared_statement_cache_capacity(64);
    // A plan is made once for a statement, not anew for every value that is bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    if mode == OpenMode::Writer {
        connection.execute_batch(
            "pragma journal_mode = wal;
             pragma synchronous = full;
             pragma foreign_keys = on;
             pragma wal_autocheckpoint = 4000;
             pragma journal_size_limit = 67108864;
             pragma cache_size = -64000;",
        )?;
    } else {
        connection.execute_batch("pragma query_only = on; pragma cache_size = -8000;")?;
    }
    Ok(connection)
}

/// A file that is not there is made for its owner alone; what SQLite puts beside it is as it is.
pub fn make_private(path: &Path) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    if path == Path::new(":memory:") {
        return Ok(());
    }
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Err(problem) if problem.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(StoreError::Down(format!("cannot open {}: {problem}", path.display())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{OpenMode, library_version, open, sound};
    use std::path::Path;

    #[test]
    fn s48_a_library_that_is_known_to_corrupt_opens_nothing() {
        let told = sound(3_051_002, "3.51.2").unwrap_err().to_string();
        assert_eq!(told, "SQLite 3.51.2 is too old; 3.51.3 or newer is needed");
        assert!(sound(3_050_004, "3.50.4").is_err() && sound(3_051_003, "3.51.3").is_ok());
        let connection = open(Path::new(":memory:"), OpenMode::Writer).unwrap();
        let spoken: String = connection.query_row("select sqlite_version()", [], |row| row.get(0)).unwrap();
        assert_eq!(spoken, library_version(), "the one that was asked is the one that runs");
    }
}
