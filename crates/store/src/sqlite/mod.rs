//! SQLite: one writer thread with group commit, readers apart, one process that decides.

mod backup;
mod commit;
mod connect;
mod lock;
mod migrate;
#[cfg(test)]
mod newest;
mod open;
#[cfg(test)]
mod plans;
mod sql;
mod store;
mod writer;

pub use backup::backup;
pub use connect::{OpenMode, library_version};
pub use lock::{Holder, Lock};
pub use open::migrate_file;
pub use store::SqliteStore;
