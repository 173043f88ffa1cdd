//! Forward-only migrations, each with the checksum it was applied with.

use crate::Result;
use crate::migration::{MigrationState, checksum, compare};
use model::Timestamp;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

const MIGRATIONS: &[(&str, &str)] = &[
    ("0001_steps", include_str!("../../sql/sqlite/migrations/0001_steps.sql")),
    ("0002_archive", include_str!("../../sql/sqlite/migrations/0002_archive.sql")),
    ("0003_nodes", include_str!("../../sql/sqlite/migrations/0003_nodes.sql")),
    ("0004_executions", include_str!("../../sql/sqlite/migrations/0004_executions.sql")),
    ("0005_api_keys", include_str!("../../sql/sqlite/migrations/0005_api_keys.sql")),
    ("0006_worker", include_str!("../../sql/sqlite/migrations/0006_worker.sql")),
    ("0007_pools", include_str!("../../sql/sqlite/migrations/0007_pools.sql")),
    ("0008_tally_parts", include_str!("../../sql/sqlite/migrations/0008_tally_parts.sql")),
    ("0009_message_groups", include_str!("../../sql/sqlite/migrations/0009_message_groups.sql")),
    ("0010_deliveries", include_str!("../../sql/sqlite/migrations/0010_deliveries.sql")),
    ("0011_outbox", include_str!("../../sql/sqlite/migrations/0011_outbox.sql")),
    ("0012_workflows", include_str!("../../sql/sqlite/migrations/0012_workflows.sql")),
    ("0013_resolution", include_str!("../../sql/sqlite/migrations/0013_resolution.sql")),
    ("0014_polls", include_str!("../../sql/sqlite/migrations/0014_polls.sql")),
    ("0015_pauses", include_str!("../../sql/sqlite/migrations/0015_pauses.sql")),
    ("0016_subscriptions", include_str!("../../sql/sqlite/migrations/0016_subscriptions.sql")),
    ("0017_published_to", include_str!("../../sql/sqlite/migrations/0017_published_to.sql")),
    ("0018_alerts", include_str!("../../sql/sqlite/migrations/0018_alerts.sql")),
    ("0019_flows", include_str!("../../sql/sqlite/migrations/0019_flows.sql")),
    ("0020_notices", include_str!("../../sql/sqlite/migrations/0020_notices.sql")),
    ("0021_alerts", include_str!("../../sql/sqlite/migrations/0021_alerts.sql")),
    ("0022_flows", include_str!("../../sql/sqlite/migrations/0022_flows.sql")),
    ("0024_dash", include_str!("../../sql/sqlite/migrations/0024_dash.sql")),
    ("0025_trace", include_str!("../../sql/sqlite/migrations/0025_trace.sql")),
    ("0026_browser_sessions", include_str!("../../sql/sqlite/migrations/0026_browser_sessions.sql")),
    ("0027_audit_chain", include_str!("../../sql/sqlite/migrations/0027_audit_chain.sql")),
    ("0028_audit_filters", include_str!("../../sql/sqlite/migrations/0028_audit_filters.sql")),
];

/// How far a database is; an error when it is newer than this program or was changed by hand.
pub fn state(connection: &Connection) -> Result<MigrationState> {
    let exists: Option<i64> = connection
        .query_row("select 1 from sqlite_schema where type = 'table' and name = 'migrations'", [], |r| {
            r.get(0)
        })
        .optional()?;
    if exists.is_none() {
        return Ok(MigrationState { applied: 0, known: MIGRATIONS.len() });
    }
    let mut statement = connection.prepare("select name, checksum from migrations order by number")?;
    let rows: Vec<(String, String)> =
        statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    compare(&rows, MIGRATIONS)
}

pub fn migrate(connection: &mut Connection, now: Timestamp) -> Result<MigrationState> {
    let before = state(connection)?;
    if before.applied == before.known {
        return Ok(before);
    }
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated while this one waited for the write lock.
    let before = state(&tx)?;
    tx.execute_batch(
        "create table if not exists migrations (number integer primary key, name text not null, checksum text not null,
         applied_at integer not null)",
    )?;
    for (i, (name, sql)) in MIGRATIONS.iter().enumerate().skip(before.applied) {
        tx.execute_batch(sql)?;
        tx.execute(
            "insert into migrations (number, name, checksum, applied_at) values (?1, ?2, ?3, ?4)",
            params![i as i64 + 1, name, checksum(sql), now.0],
        )?;
    }
    tx.commit()?;
    state(connection)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::{OpenMode, connect};

    #[test]
    fn it_runs_once_and_refuses_what_it_does_not_know() {
        let mut connection = connect::open(":memory:".as_ref(), OpenMode::Writer).unwrap();
        let done = migrate(&mut connection, Timestamp(1)).unwrap();
        assert_eq!(done, MigrationState { applied: MIGRATIONS.len(), known: MIGRATIONS.len() });
        assert_eq!(migrate(&mut connection, Timestamp(2)).unwrap(), done);
        connection.execute("insert into migrations values (99, '0099_future', 'x', 0)", []).unwrap();
        let refused = migrate(&mut connection, Timestamp(3)).unwrap_err().to_string();
        assert!(refused.contains("does not know"), "{refused}");
        connection.execute("delete from migrations where number = 99", []).unwrap();
        connection.execute("update migrations set checksum = 'y' where number = 1", []).unwrap();
        let refused = migrate(&mut connection, Timestamp(3)).unwrap_err().to_string();
        assert!(refused.contains("other content"), "{refused}");
    }
}
