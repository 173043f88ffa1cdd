//! Forward-only migrations under an advisory lock, each with the checksum it was applied with.

use super::link::Link;
use crate::migration::{MigrationState, compare};
use crate::sql::{Access, Sql};
use crate::{Result, params};
use model::Timestamp;

const MIGRATIONS: &[(&str, &str)] = &[
    ("0001_steps", include_str!("../../sql/postgres/migrations/0001_steps.sql")),
    ("0002_nodes", include_str!("../../sql/postgres/migrations/0002_nodes.sql")),
    ("0003_enqueue", include_str!("../../sql/postgres/migrations/0003_enqueue.sql")),
    ("0004_executions", include_str!("../../sql/postgres/migrations/0004_executions.sql")),
    ("0005_api_keys", include_str!("../../sql/postgres/migrations/0005_api_keys.sql")),
    ("0006_worker", include_str!("../../sql/postgres/migrations/0006_worker.sql")),
    ("0007_pools", include_str!("../../sql/postgres/migrations/0007_pools.sql")),
    ("0008_hot_rows", include_str!("../../sql/postgres/migrations/0008_hot_rows.sql")),
    ("0009_message_groups", include_str!("../../sql/postgres/migrations/0009_message_groups.sql")),
    ("0010_deliveries", include_str!("../../sql/postgres/migrations/0010_deliveries.sql")),
    ("0011_outbox", include_str!("../../sql/postgres/migrations/0011_outbox.sql")),
    ("0012_workflows", include_str!("../../sql/postgres/migrations/0012_workflows.sql")),
    ("0013_resolution", include_str!("../../sql/postgres/migrations/0013_resolution.sql")),
    ("0014_polls", include_str!("../../sql/postgres/migrations/0014_polls.sql")),
    ("0015_pauses", include_str!("../../sql/postgres/migrations/0015_pauses.sql")),
    ("0016_subscriptions", include_str!("../../sql/postgres/migrations/0016_subscriptions.sql")),
    ("0017_published_to", include_str!("../../sql/postgres/migrations/0017_published_to.sql")),
    ("0018_alerts", include_str!("../../sql/postgres/migrations/0018_alerts.sql")),
    ("0019_flows", include_str!("../../sql/postgres/migrations/0019_flows.sql")),
    ("0020_notices", include_str!("../../sql/postgres/migrations/0020_notices.sql")),
    ("0021_alerts", include_str!("../../sql/postgres/migrations/0021_alerts.sql")),
    ("0022_flows", include_str!("../../sql/postgres/migrations/0022_flows.sql")),
    ("0024_dash", include_str!("../../sql/postgres/migrations/0024_dash.sql")),
    ("0025_trace", include_str!("../../sql/postgres/migrations/0025_trace.sql")),
    ("0026_browser_sessions", include_str!("../../sql/postgres/migrations/0026_browser_sessions.sql")),
    ("0027_audit_chain", include_str!("../../sql/postgres/migrations/0027_audit_chain.sql")),
    ("0028_audit_filters", include_str!("../../sql/postgres/migrations/0028_audit_filters.sql")),
];

/// Any number that is not likely to be somebody else's.
const LOCK: i64 = 0x5374_6570_6661_7374;

/// How far a database is; an error when it is newer than this program or was changed by hand.
pub fn state(link: &Link) -> Result<MigrationState> {
    let link: &dyn Sql = link;
    let exists: bool = link.value("select to_regclass('stepfast.migrations') is not null", &[])?;
    if !exists {
        return Ok(MigrationState { applied: 0, known: MIGRATIONS.len() });
    }
    let applied = link.rows("select name, checksum from migrations order by number", &[], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    compare(&applied, MIGRATIONS)
}

pub fn migrate(link: &Link, now: Timestamp) -> Result<MigrationState> {
    let before = state(link)?;
    if before.applied == before.known {
        return Ok(before);
    }
    let sql: &dyn Sql = link;
    sql.transaction(Access::Write, |_| apply(link, now))?;
    state(link)
}

fn apply(link: &Link, now: Timestamp) -> Result<()> {
    // An index over a large table takes its time.
    link.script("set local statement_timeout = 0")?;
    // Another node may be migrating; whoever comes second finds it done.
    link.script(&format!("select pg_advisory_xact_lock({LOCK})"))?;
    link.script(
        "create schema if not exists stepfast;
         create table if not exists stepfast.migrations (number bigint primary key, name text not null,
            checksum text not null, applied_at bigint not null)",
    )?;
    let before = state(link)?;
    for (i, (name, sql)) in MIGRATIONS.iter().enumerate().skip(before.applied) {
        link.script(sql)?;
        link.execute(
            "insert into migrations (number, name, checksum, applied_at) values ($1, $2, $3, $4)",
            params![i as i64 + 1, *name, crate::migration::checksum(sql), now],
        )?;
    }
    Ok(())
}
