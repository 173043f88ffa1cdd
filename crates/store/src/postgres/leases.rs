//! Leases among nodes that share a database: each takes and gives what the spread makes its own to take and give.

use crate::batch::NodeRow;
use crate::leases::{check_groups, enter, take};
use crate::sql::{Access, Sql};
use crate::{Clock, Lease, Result, StoreError, params};
use model::{DispatchGroup, NodeId, Timestamp, limits};
use rules::share::{Sharer, share};
use std::path::Path;

/// Take what is free and should be this node's, give up what should be another's, and say what this node has then. No commit
/// of this node may be on its way.
pub fn shift(sql: &dyn Sql, node: &NodeRow, all: &[DispatchGroup], clock: &dyn Clock) -> Result<Lease> {
    sql.transaction(Access::Write, |sql| {
        // Nodes go one after the other. Whoever waits for the lock makes every commit behind it wait too, so it waits not long.
        sql.execute("set local lock_timeout = '2s'", &[])?;
        sql.execute("lock table dispatch_groups in exclusive mode", &[])?;
        let now = clock.now();
        bury(sql, node, now)?;
        forget_stamps(sql)?;
        refuse_other_groups(sql, node, all)?;
        check_groups(sql, all)?;
        enter(sql, node, now)?;
        let sharers = sharers(sql)?;
        let held = held(sql, node.id, now)?;
        let groups: Vec<_> = held.iter().map(|h| (h.group.clone(), h.owner)).collect();
        let spread = share(&groups, &sharers);
        let mut lease = Lease { node: node.id, groups: Vec::new() };
        for Held { group, owner, epoch } in held {
            let mine = spread.get(&group) == Some(&node.id);
            match owner {
                Some(owner) if owner == node.id && mine => {
                    keep(sql, &group, now)?;
                    lease.groups.push((group, epoch));
                }
                Some(owner) if owner == node.id => give(sql, node.id, &group)?,
                None if mine => {
                    let epoch = take(sql, node.id, &group, now)?;
                    lease.groups.push((group, epoch));
                }
                _ => {}
            }
        }
        Ok(lease)
    })
}

struct Held {
    group: DispatchGroup,
    /// A node that lives and whose lease has not run out, or this one: what nobody took is still its own.
    owner: Option<NodeId>,
    epoch: u64,
}

fn held(sql: &dyn Sql, node: NodeId, now: Timestamp) -> Result<Vec<Held>> {
    let text = "select g.dispatch_group, n.id, g.epoch from dispatch_groups g
                  left join nodes n on n.id = g.owner_id and n.ended_at is null and (g.lease_ends_at > $1 or n.id = $2)
                 order by g.ordinal";
    sql.rows(text, params![now, node], |row| {
        Ok(Held {
            group: DispatchGroup::new(row.text(0)?),
            owner: row.get::<Option<[u8; 16]>>(1)?.map(NodeId::from_bytes),
            epoch: row.get(2)?,
        })
    })
}

fn sharers(sql: &dyn Sql) -> Result<Vec<Sharer>> {
    let text = "select id, limited_to, standby from nodes where ended_at is null";
    sql.rows(text, params![], |row| {
        let limited_to = row.text(1)?;
        Ok(Sharer {
            node: NodeId::from_bytes(row.get(0)?),
            limited_to: serde_json::from_str(limited_to).map_err(|_| StoreError::Corrupt {
                table: "nodes",
                column: "limited_to",
                value: limited_to.into(),
            })?,
            standby: row.get(2)?,
        })
    })
}

fn keep(sql: &dyn Sql, group: &DispatchGroup, now: Timestamp) -> Result<()> {
    let text = "update dispatch_groups set lease_ends_at = $2 where dispatch_group = $1";
    sql.execute(text, params![group.as_str(), now + limits::GROUP_LEASE])?;
    Ok(())
}

fn give(sql: &dyn Sql, node: NodeId, group: &DispatchGroup) -> Result<()> {
    let text =
        "update dispatch_groups set owner_id = null, lease_ends_at = null, owned_since = null, ready = '[]'
                 where dispatch_group = $1 and owner_id = $2";
    sql.execute(text, params![group.as_str(), node])?;
    Ok(())
}

/// The list of groups changes only while no other node works with the old one.
fn refuse_other_groups(sql: &dyn Sql, node: &NodeRow, all: &[DispatchGroup]) -> Result<()> {
    let known: Vec<String> =
        sql.rows("select dispatch_group from dispatch_groups order by ordinal", &[], |r| r.get(0))?;
    let same = known.len() == all.len() && all.iter().all(|g| known.iter().any(|k| k == g.as_str()));
    let text = "select host from nodes where ended_at is null and id <> $1 limit 1";
    let other: Option<String> = sql.first(text, params![node.id], |row| row.get(0))?;
    match other {
        Some(host) if !known.is_empty() && !same => Err(StoreError::Refused(format!(
            "the dispatch groups of this configuration are not those of the database ({}), and the node on {host} works with them; \
             write the same list, or stop every node to change it",
            known.join(", ")
        ))),
        _ => Ok(()),
    }
}

/// A process of this very boot and view that does not exist any more: its lease need not be waited for.
pub fn is_gone(machine: &str, pid: u32, node: &NodeRow) -> bool {
    // Where the first process cannot be seen, those of others cannot be either, and nothing is proved.
    let here = !node.machine.is_empty() && machine == node.machine && Path::new("/proc/1").exists();
    here && pid != node.pid && !Path::new(&format!("/proc/{pid}")).exists()
}

/// Stamps of nodes that are not on record any more.
fn forget_stamps(sql: &dyn Sql) -> Result<()> {
    let text = "delete from commit_stamps s where not exists (select 1 from nodes n where n.id = substr(s.stamp, 1, 16))";
    sql.execute(text, &[])?;
    Ok(())
}

/// Nodes that were not heard of for as long as a lease lasts have ended, and their sessions with them.
fn bury(sql: &dyn Sql, node: &NodeRow, now: Timestamp) -> Result<()> {
    let text = "select id, machine, pid, seen_at from nodes where ended_at is null and id <> $1";
    let others = sql.rows(text, params![node.id], |row| {
        let gone = is_gone(row.text(1)?, row.get(2)?, node);
        let silent = Timestamp(row.get(3)?) + limits::GROUP_LEASE <= now;
        Ok((NodeId::from_bytes(row.get(0)?), gone || silent))
    })?;
    for (id, dead) in others {
        if dead {
            sql.execute("update nodes set ended_at = $2 where id = $1", params![id, now])?;
            let sessions =
                "update sessions set ended_at = $2 where node_id = $1 and ended_at is null and remote = 0";
            sql.execute(sessions, params![id, now])?;
        }
    }
    Ok(())
}
