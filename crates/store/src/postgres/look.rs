//! One statement that shows a node everything the others left for it.

use super::clock::{SERVER_NOW, ServerClock};
use super::leases::is_gone;
use crate::batch::{NodeRow, SessionRow, SignalRow, SignalTo};
use crate::look::{GroupSeen, Look, NodeSeen};
use crate::settings::read_breaker;
use crate::sql::{Row, Sql};
use crate::{Clock, Lease, Result, StoreError, params, rows};
use model::{DispatchGroup, Name, NodeId, SessionId, SessionOffer, SignalId, Timestamp, limits};
use rules::share::Sharer;
use serde::de::DeserializeOwned;

/// Signals taken at one look; the rest is there at the next.
const SIGNALS_MAX: usize = 250;

fn text() -> String {
    format!(
        "select 'now' as what, null::bytea as id, null::bytea as node, null::text as name, null::text as body,
                {SERVER_NOW} as at, 0::bigint as n, null::text as extra
         union all
         select 'signal', id, from_node_id, dispatch_group, body, at, 0, null from
            (select * from signals where answered_at is null and dispatch_group is not null
                and dispatch_group in (select jsonb_array_elements_text($2::text::jsonb)) order by id limit {SIGNALS_MAX}) s
         union all
         select 'signal', id, from_node_id, null, body, at, 0, null from
            (select * from signals where answered_at is null and node_id = $1 order by id limit {SIGNALS_MAX}) s
         union all
         select 'answer', id, null, null, answer, answered_at, 0, null from
            (select * from signals where answered_at is not null and from_node_id = $1 order by id limit {SIGNALS_MAX}) s
         union all
         select 'node', id, null, machine, limited_to, seen_at, standby, pid::text from nodes where ended_at is null
         union all
         select 'group', null, owner_id, dispatch_group, ready, lease_ends_at, ordinal, breaker from dispatch_groups
         union all
         select 'breaker', null, null, null, value, 0, 0, null from settings where name = 'breaker'
         union all
         select 'session', id, node_id, host, queues, lease_ends_at, capacity, actions from sessions
          where ended_at is null and node_id <> $1"
    )
}

/// `server` is set right by what the server says on the way.
pub fn look(
    sql: &dyn Sql,
    node: &NodeRow,
    lease: &Lease,
    clock: &dyn Clock,
    server: Option<&ServerClock>,
) -> Result<Look> {
    let mut look = Look::default();
    let groups: Vec<&str> = lease.groups.iter().map(|(group, _)| group.as_str()).collect();
    let groups = serde_json::to_string(&groups).unwrap_or_default();
    sql.each(&text(), params![node.id, groups], &mut |row| {
        if row.text(0)? == "now" {
            let now = row.get(5)?;
            server.inspect(|server| server.compare(Timestamp(now)));
            return Ok(());
        }
        take(&mut look, node, row)
    })?;
    let now = clock.now();
    look.signals.sort_by_key(|s| s.id);
    look.groups.sort_by_key(|g| g.ordinal);
    look.nodes.retain(|n| n.sharer.node == node.id || n.until > now);
    let lives = |id: NodeId| look.nodes.iter().any(|n| n.sharer.node == id);
    for group in &mut look.groups {
        let held = group.lease_ends_at.is_some_and(|end| end > now);
        group.owner = group.owner.filter(|owner| *owner == node.id || held && lives(*owner));
    }
    look.sessions.retain(|s| s.lease_ends_at > now && lives(s.node));
    Ok(look)
}

fn take(look: &mut Look, node: &NodeRow, row: &Row) -> Result<()> {
    match row.text(0)? {
        "signal" => look.signals.push(SignalRow {
            id: SignalId::from_bytes(row.get(1)?),
            from: row.get::<Option<[u8; 16]>>(2)?.map(NodeId::from_bytes),
            to: match rows::optional_shared(row, 3)? {
                Some(group) => SignalTo::Group(DispatchGroup(group)),
                None => SignalTo::Node(node.id),
            },
            body: row.get(4)?,
        }),
        "answer" => look.answers.push((SignalId::from_bytes(row.get(1)?), row.get(4)?)),
        "node" => {
            let id = NodeId::from_bytes(row.get(1)?);
            let pid: u32 = row.text(7)?.parse().unwrap_or(0);
            if id == node.id || !is_gone(row.text(3)?, pid, node) {
                let sharer = Sharer {
                    node: id,
                    limited_to: json(row, 4, "nodes", "limited_to")?,
                    standby: row.get(6)?,
                };
                look.nodes.push(NodeSeen { sharer, until: Timestamp(row.get(5)?) + limits::GROUP_LEASE });
            }
        }
        "group" => look.groups.push(GroupSeen {
            dispatch_group: DispatchGroup(rows::shared(row, 3)?),
            owner: row.get::<Option<[u8; 16]>>(2)?.map(NodeId::from_bytes),
            lease_ends_at: rows::time(row, 5)?,
            breaker: read_breaker(row.text(7)?)?,
            ready: json::<Vec<(Name, Name)>>(row, 4, "dispatch_groups", "ready")?,
            ordinal: row.get(6)?,
        }),
        "breaker" => look.breaker = read_breaker(row.text(4)?)?,
        _ => look.sessions.push(session(row)?),
    }
    Ok(())
}

fn session(row: &Row) -> Result<SessionRow> {
    let offer = SessionOffer {
        host: rows::shared(row, 3)?,
        queues: json(row, 4, "sessions", "queues")?,
        actions: json(row, 7, "sessions", "actions")?,
        capacity: row.get::<i64>(6)?.unsigned_abs() as usize,
        remote: false,
    };
    Ok(SessionRow {
        id: SessionId::from_bytes(row.get(1)?),
        node: NodeId::from_bytes(row.get(2)?),
        offer,
        started_at: Timestamp(0),
        lease_ends_at: Timestamp(row.get(5)?),
        ended_at: None,
    })
}

fn json<T: DeserializeOwned>(row: &Row, i: usize, table: &'static str, column: &'static str) -> Result<T> {
    let text = row.text(i)?;
    serde_json::from_str(text).map_err(|_| StoreError::Corrupt { table, column, value: text.into() })
}
