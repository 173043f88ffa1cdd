//! Which database: a file of SQLite, or a PostgreSQL server.

use crate::sqlite::{Holder, Lock, SqliteStore};
use crate::{Browse, Clock, MigrationState, Result, Store, SystemClock, postgres, sqlite};
use model::Timestamp;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Database {
    Sqlite(PathBuf),
    /// Its address, with the password if it has one: never printed.
    Postgres(String),
}

impl FromStr for Database {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Database, String> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            if path.is_empty() {
                return Err(format!("`{text}` names no file; write sqlite:PATH"));
            }
            return Ok(Database::Sqlite(path.into()));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Database::Postgres(text.into()));
        }
        Err(format!("`{text}` is not a database; write sqlite:PATH or postgres://USER@HOST/NAME"))
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Database::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Database::Postgres(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
                write!(f, "{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, place)| place))
            }
        }
    }
}

impl Database {
    /// Open to decide; without a clock, time is that of the machine or of the server.
    pub fn open(&self, clock: Option<Arc<dyn Clock>>, holder: Holder) -> Result<Box<dyn Store>> {
        match self {
            Database::Sqlite(path) => {
                let clock = clock.unwrap_or_else(|| Arc::new(SystemClock::default()));
                Ok(Box::new(SqliteStore::open(path, clock, holder)?))
            }
            Database::Postgres(url) => Ok(Box::new(postgres::PostgresStore::open(url, clock)?)),
        }
    }
    /// Open to read.
    pub fn browse(&self) -> Result<Browse> {
        match self {
            Database::Sqlite(path) => Browse::open(path),
            Database::Postgres(url) => postgres::browse(url),
        }
    }
    /// Where keys are when nobody said where: beside a file. A server's are the business of its nodes.
    pub fn key_file(&self) -> Option<PathBuf> {
        match self {
            Database::Sqlite(path) => {
                let mut name = path.clone().into_os_string();
                name.push(".key");
                Some(name.into())
            }
            Database::Postgres(_) => None,
        }
    }
    /// Who decides for it now, if anybody does.
    pub fn decider(&self) -> Result<Option<Holder>> {
        match self {
            Database::Sqlite(path) => Ok(Lock::holder(path)),
            Database::Postgres(url) => postgres::decider(url),
        }
    }
    pub fn migrate(&self, now: Timestamp, apply: bool) -> Result<MigrationState> {
        match self {
            Database::Sqlite(path) => sqlite::migrate_file(path, now, apply),
            Database::Postgres(url) => postgres::migrate(url, now, apply),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_printed() {
        let database: Database = "postgres://me:secret@db.example/steps".parse().unwrap();
        assert_eq!(database.to_string(), "postgres://db.example/steps");
        assert_eq!("sqlite:/a/b.db".parse::<Database>().unwrap().to_string(), "sqlite:/a/b.db");
        assert!("mysql://x".parse::<Database>().unwrap_err().contains("write sqlite:PATH or postgres://"));
    }
}
