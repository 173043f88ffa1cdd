//! Leases among nodes that share a database: one is taken only when nobody who lives has it.

use crate::batch::NodeRow;
use crate::leases::{check_groups, enter, forget_old, take};
use crate::sql::{Access, Sql};
use crate::{Lease, Result, StoreError, params};
use model::{DispatchGroup, Timestamp, limits};

/// Take the groups under a new epoch, or say who has them.
pub fn take_free(
    sql: &dyn Sql,
    node: &NodeRow,
    groups: &[DispatchGroup],
    all: &[DispatchGroup],
    now: Timestamp,
) -> Result<Lease> {
    sql.transaction(Access::Write, |sql| {
        // Nodes that start together go one after the other.
        sql.execute("lock table dispatch_groups in share row exclusive mode", &[])?;
        check_groups(sql, all)?;
        let taken = "select g.dispatch_group, n.host, n.url, g.lease_ends_at from dispatch_groups g
                       left join nodes n on n.id = g.owner_id
                      where g.owner_id is not null and g.owner_id <> $1 and g.lease_ends_at > $2";
        let taken = sql.rows(taken, params![node.id, now], |row| {
            Ok((row.get::<String>(0)?, row.get::<Option<String>>(1)?, row.get::<Option<String>>(2)?))
        })?;
        if let Some((group, host, url)) =
            taken.into_iter().find(|(name, _, _)| groups.iter().any(|g| g.as_str() == name))
        {
            let (host, at) = (host.unwrap_or("another".into()), url.map(|u| format!(" at {u}")));
            return Err(StoreError::Busy(format!(
                "dispatch group `{group}` belongs to the node on {host}{}; this node stands by",
                at.unwrap_or_default()
            )));
        }
        bury(sql, now)?;
        enter(sql, node, now)?;
        let mut lease = Lease { node: node.id, groups: Vec::new() };
        for group in groups {
            lease.groups.push((group.clone(), take(sql, node.id, group, now)?));
        }
        forget_old(sql, now)?;
        Ok(lease)
    })
}

/// Nodes that were not heard of for a lease's time have ended, and their sessions with them.
fn bury(sql: &dyn Sql, now: Timestamp) -> Result<()> {
    sql.execute(
        "update nodes set ended_at = $1 where ended_at is null and seen_at <= $2",
        params![now, now - limits::GROUP_LEASE],
    )?;
    sql.execute(
        "update sessions set ended_at = $1
          where ended_at is null and node_id in (select id from nodes where ended_at is not null)",
        params![now],
    )?;
    Ok(())
}
