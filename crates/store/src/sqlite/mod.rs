//! SQLite: one writer thread with group commit, readers apart, one process that decides.

mod browse;
mod check;
mod commit;
mod connect;
mod explain;
mod lock;
mod migrate;
mod read;
mod retention;
mod rows;
mod statements;
mod steps;
mod writer;

pub use browse::Browse;
pub use check::{Checkable, Checked, Finding, INVARIANTS};
pub use connect::{OpenMode, library_version};
pub use explain::Circumstances;
pub use lock::{Holder, Lock};
pub use migrate::{MigrationState, migrate, state as migration_state};
pub use read::SqliteStore;
