//! PostgreSQL: commits in two flights on one connection, reads on another, many nodes on one database.

mod added;
mod address;
mod batched;
mod clock;
mod commit;
mod enqueue;
mod executions;
mod form;
mod identity;
mod leases;
mod ledger;
mod link;
mod listen;
mod look;
mod many;
mod mark;
mod migrate;
mod parts;
mod places;
#[cfg(test)]
mod plans;
mod scratch;
mod store;
mod stream;
mod tls;
mod writer;

pub use enqueue::{EnqueueError, enqueue_in, enqueue_many_in};
pub use executions::{ExecutionInError, begin_in, complete_in, fail_in};
pub use link::Patience;
pub use scratch::{HeldSnapshot, Scratch};
pub use store::PostgresStore;
/// The driver of the connections that callers bring.
pub use tokio_postgres;

use crate::sql::Sql;
use crate::sqlite::Holder;
use crate::{Browse, MigrationState, Result, StoreError};
use clock::SERVER_NOW;
use link::Link;
use model::Timestamp;

/// The node that decides now, as it told its address.
pub fn decider(url: &str) -> Result<Option<Holder>> {
    let link = Link::open(url)?;
    let state = migrate::state(&link)?;
    if state.applied < state.known {
        return Ok(None);
    }
    let sql: &dyn Sql = &link;
    let text = format!(
        "select n.host, n.pid, n.url from dispatch_groups g join nodes n on n.id = g.owner_id
          where g.lease_ends_at > {SERVER_NOW} order by n.started_at limit 1"
    );
    sql.first(&text, &[], |row| {
        Ok(Holder { host: row.get(0)?, pid: row.get(1)?, url: row.get(2)?, doing: "serve".into() })
    })
}

/// Open for reading; a database that was never migrated is refused with what to do.
pub fn browse(url: &str) -> Result<Browse> {
    let link = Link::open(url)?;
    let state = migrate::state(&link)?;
    if state.applied < state.known {
        let fix = "start `stepfast serve` or run `stepfast migrate`";
        return Err(StoreError::Refused(format!("the database is older than this program; {fix}")));
    }
    Ok(Browse::new(Box::new(link), "the database".into()))
}

/// Apply what is missing, or only say how far the database is: the `migrate` command.
pub fn migrate(url: &str, now: Timestamp, apply: bool) -> Result<MigrationState> {
    let link = Link::open(url)?;
    if apply { migrate::migrate(&link, now) } else { migrate::state(&link) }
}
