//! What can go wrong with a store, in classes that decide what the engine does next.

use thiserror::Error;

#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// Someone else acted: forget what was decided and look again.
    #[error("{what} was changed by someone else")]
    Lost { what: String },
    /// Another process has the database.
    #[error("{0}")]
    Busy(String),
    /// The store does not take writes now: disk full, read-only, gone.
    #[error("the database does not answer: {0}")]
    Down(String),
    /// The store went away while it was told to keep something, and cannot be asked whether it did.
    #[error("it is not known whether this was stored: {0}")]
    Unknown(String),
    /// The store answers, but never takes this: a value or a statement it refuses. Trying again changes nothing.
    #[error("the database refuses what it was given: {0}")]
    Unfit(String),
    /// A row that this program did not write.
    #[error("{table}.{column} holds {value}, which is not understood")]
    Corrupt { table: &'static str, column: &'static str, value: String },
    /// The database is not one this program may use.
    #[error("{0}")]
    Refused(String),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        match error.sqlite_error_code() {
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => StoreError::Busy(error.to_string()),
            Some(Code::ConstraintViolation | Code::TypeMismatch | Code::TooBig) => {
                StoreError::Unfit(error.to_string())
            }
            _ => StoreError::Down(error.to_string()),
        }
    }
}
