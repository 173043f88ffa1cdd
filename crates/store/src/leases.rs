//! The right to decide for dispatch groups: who has it, and since which epoch.

use crate::batch::NodeRow;
use crate::settings::put_setting;
use crate::sql::{Access, Sql};
use crate::{Lease, Result, StoreError, params};
use model::{DispatchGroup, NodeId, Timestamp, limits};

/// Take every lease at once, under a new epoch: the caller has proof that every other owner is dead.
pub fn take_all(sql: &dyn Sql, node: &NodeRow, all: &[DispatchGroup], now: Timestamp) -> Result<Lease> {
    sql.transaction(Access::Write, |sql| {
        check_groups(sql, all)?;
        end_all(sql, now)?;
        enter(sql, node, now)?;
        let mut lease = Lease { node: node.id, groups: Vec::new() };
        let groups = if node.limited_to.is_empty() { all } else { &node.limited_to };
        for group in groups {
            lease.groups.push((group.clone(), take(sql, node.id, group, now)?));
        }
        Ok(lease)
    })
}

/// No node is on record as alive any more, and no group has an owner.
pub(crate) fn end_all(sql: &dyn Sql, now: Timestamp) -> Result<()> {
    sql.execute("update nodes set ended_at = $1 where ended_at is null", params![now])?;
    sql.execute("update sessions set ended_at = $1 where ended_at is null and remote = 0", params![now])?;
    let owners = "update dispatch_groups set owner_id = null, lease_ends_at = null, owned_since = null
                   where owner_id is not null";
    sql.execute(owners, params![])?;
    Ok(())
}

/// Put a node on record.
pub(crate) fn enter(sql: &dyn Sql, node: &NodeRow, now: Timestamp) -> Result<()> {
    let text =
        "insert into nodes (id, host, pid, url, version, machine, limited_to, standby, started_at, seen_at)
                values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
                on conflict (id) do update set seen_at = excluded.seen_at, ended_at = null";
    let limited_to = serde_json::to_string(&node.limited_to).unwrap_or_default();
    let NodeRow { id, host, pid, url, version, machine, standby, .. } = node;
    sql.execute(text, params![*id, host, *pid, url.as_deref(), version, machine, limited_to, *standby, now])?;
    Ok(())
}

/// Make a node the owner of a group; the new epoch.
pub(crate) fn take(sql: &dyn Sql, node: NodeId, group: &DispatchGroup, now: Timestamp) -> Result<u64> {
    let text =
        "update dispatch_groups set owner_id = $2, epoch = epoch + 1, lease_ends_at = $3, owned_since = $4
                 where dispatch_group = $1 returning epoch";
    sql.value(text, params![group.as_str(), node, now + limits::GROUP_LEASE, now])
}

/// The list of groups is part of the data: changing it by configuration would strand the steps of a group that is gone.
pub fn check_groups(sql: &dyn Sql, all: &[DispatchGroup]) -> Result<()> {
    let known: Vec<String> =
        sql.rows("select dispatch_group from dispatch_groups order by ordinal", params![], |r| r.get(0))?;
    for (i, group) in all.iter().enumerate() {
        if !known.iter().any(|k| k == group.as_str()) {
            let text = "insert into dispatch_groups (dispatch_group, ordinal) values ($1, $2)";
            sql.execute(text, params![group.as_str(), known.len() + i])?;
        }
    }
    for name in known.iter().filter(|k| !all.iter().any(|g| g.as_str() == k.as_str())) {
        let live: i64 = sql.value(
            "select cast(coalesce(sum(n), 0) as bigint)
                  + (select count(*) from signals where dispatch_group = $1 and body like '{\"arrived\"%')
               from (select dispatch_group, queue, state, n from tallies
                     union all select dispatch_group, queue, state, n from tally_parts) as counted
              where dispatch_group = $1 and queue <> ''
                and state in ('pending', 'dispatched', 'running', 'polling', 'not_runnable')",
            params![name],
        )?;
        if live > 0 {
            let problem =
                format!("dispatch group `{name}` is not in the configuration but has {live} live steps");
            return Err(StoreError::Refused(format!(
                "{problem}; add it to `dispatch.groups` until they have ended"
            )));
        }
        sql.execute("delete from dispatch_groups where dispatch_group = $1", params![name])?;
    }
    put_setting(sql, "dispatch_groups", &all.iter().map(DispatchGroup::as_str).collect::<Vec<_>>().join(" "))
}

/// Give the groups back, and leave.
pub fn release(sql: &dyn Sql, lease: &Lease, now: Timestamp) -> Result<()> {
    sql.transaction(Access::Write, |sql| {
        for (group, epoch) in &lease.groups {
            let text = "update dispatch_groups set owner_id = null, lease_ends_at = null, owned_since = null, ready = '[]'
                         where dispatch_group = $1 and owner_id = $2 and epoch = $3";
            sql.execute(text, params![group.as_str(), lease.node, *epoch])?;
        }
        sql.execute("update nodes set ended_at = $2 where id = $1", params![lease.node, now])?;
        let sessions = "update sessions set ended_at = $2 where node_id = $1 and ended_at is null and remote = 0";
        sql.execute(sessions, params![lease.node, now])?;
        Ok(())
    })
}
