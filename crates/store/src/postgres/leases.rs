//! Leases among nodes that share a database: one is taken only when nobody who lives has it.

use crate::batch::NodeRow;
use crate::leases::{check_groups, enter, forget_old, take};
use crate::sql::{Access, Sql};
use crate::{Lease, Result, StoreError, params};
use model::{DispatchGroup, Timestamp};
use std::path::Path;

/// Take the groups under a new epoch, or say who has them.
pub fn take_free(
    sql: &dyn Sql,
    node: &NodeRow,
    groups: &[DispatchGroup],
    all: &[DispatchGroup],
    now: Timestamp,
) -> Result<Lease> {
    // One that stands by must not hold up the one that decides.
    refuse_if_taken(sql, node, groups, now)?;
    sql.transaction(Access::Write, |sql| {
        // Nodes that start together go one after the other.
        sql.execute("lock table dispatch_groups in share row exclusive mode", &[])?;
        check_groups(sql, all)?;
        refuse_if_taken(sql, node, groups, now)?;
        enter(sql, node, now)?;
        let mut lease = Lease { node: node.id, groups: Vec::new() };
        for group in groups {
            lease.groups.push((group.clone(), take(sql, node.id, group, now)?));
        }
        bury(sql, now)?;
        forget_old(sql, now)?;
        Ok(lease)
    })
}

fn refuse_if_taken(sql: &dyn Sql, node: &NodeRow, groups: &[DispatchGroup], now: Timestamp) -> Result<()> {
    let wanted = |owner: &Owner| groups.iter().any(|g| g.as_str() == owner.group) && !is_gone(owner, node);
    match owners(sql, node, now)?.into_iter().find(wanted) {
        None => Ok(()),
        Some(Owner { group, host, url, .. }) => Err(StoreError::Busy(format!(
            "dispatch group `{group}` belongs to the node on {host}{}; this node stands by",
            url.map(|u| format!(" at {u}")).unwrap_or_default()
        ))),
    }
}

/// Who has the lease of a group.
struct Owner {
    group: String,
    host: String,
    pid: u32,
    url: Option<String>,
    machine: String,
}

/// Other nodes whose leases have not run out.
fn owners(sql: &dyn Sql, node: &NodeRow, now: Timestamp) -> Result<Vec<Owner>> {
    let text = "select g.dispatch_group, n.host, n.pid, n.url, n.machine from dispatch_groups g
                  join nodes n on n.id = g.owner_id
                 where g.owner_id <> $1 and g.lease_ends_at > $2 order by g.ordinal";
    sql.rows(text, params![node.id, now], |row| {
        Ok(Owner {
            group: row.get(0)?,
            host: row.get(1)?,
            pid: row.get(2)?,
            url: row.get(3)?,
            machine: row.get(4)?,
        })
    })
}

/// A process of this very boot and view that does not exist any more: its lease need not be waited for.
fn is_gone(owner: &Owner, node: &NodeRow) -> bool {
    let here = !node.machine.is_empty() && owner.machine == node.machine;
    here && owner.pid != node.pid && !Path::new(&format!("/proc/{}", owner.pid)).exists()
}

/// Nodes that have no group left have ended, and their sessions with them.
fn bury(sql: &dyn Sql, now: Timestamp) -> Result<()> {
    sql.execute(
        "update nodes set ended_at = $1
          where ended_at is null
            and not exists (select 1 from dispatch_groups g where g.owner_id = nodes.id)",
        params![now],
    )?;
    sql.execute(
        "update sessions set ended_at = $1
          where ended_at is null and node_id in (select id from nodes where ended_at is not null)",
        params![now],
    )?;
    Ok(())
}
