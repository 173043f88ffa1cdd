//! The few reads a turn may need, and what a node looks at when it takes over.

use crate::batch::{ClaimLog, Post, TallyKey};
use crate::settings::{global_breaker, read_breaker};
use crate::sql::{Param, Row, Sql};
use crate::statements::{self, BLOCK_COLUMNS, DETAIL_COLUMNS, SESSION_COLUMNS, STEP_COLUMNS, with_columns};
use crate::{
    Found, Lease, Result, SessionRow, Sort, StoreError, message_groups, params, pools, rows, workflows,
};
use model::{
    Block, BlockId, Detail, DispatchGroup, GroupStatus, Name, NodeId, SessionId, Step, StepId, StepKind,
    Timestamp, WorkflowState,
};
use std::collections::BTreeMap;

fn many(sql: &dyn Sql, text: &str, params: &[Param]) -> Result<Vec<Step>> {
    sql.rows(&with_columns(text), params, rows::step)
}

pub fn step(sql: &dyn Sql, id: StepId) -> Result<Option<Step>> {
    Ok(many(sql, "select {columns} from steps where id = $1", params![id])?.into_iter().next())
}

pub fn block(sql: &dyn Sql, id: BlockId) -> Result<Option<Block>> {
    sql.first(&format!("select {BLOCK_COLUMNS} from blocks where id = $1"), params![id], rows::block)
}

/// Children of a block that have not ended, in block order, behind a cursor.
pub fn unsettled(
    sql: &dyn Sql,
    block: BlockId,
    after: Option<(u32, StepId)>,
    limit: usize,
) -> Result<Vec<Step>> {
    let (index, id) = after.map_or((0, [0; 16]), |(index, id)| (index, *id.bytes()));
    many(sql, statements::UNSETTLED_CHILDREN, params![block, index, &id, limit])
}

pub fn recover(sql: &dyn Sql, lease: &Lease) -> Result<Found> {
    let alerted = "select entity_id from alerts where closed_at is null and reason = 'group_no_progress'";
    let highest = |table: &str| sql.value(&format!("select coalesce(max(id), 0) from {table}"), params![]);
    Ok(Found {
        claims: claims(sql, lease)?,
        held: held(sql, lease)?,
        left: left(sql, lease)?,
        blocks: open_blocks(sql, lease)?,
        tallies: tallies(sql)?,
        breaker: global_breaker(sql)?,
        groups: group_statuses(sql)?,
        alerted: sql.rows(alerted, params![], |r| Ok(DispatchGroup(rows::shared(r, 0)?)))?,
        last_tick: highest("ticks")?,
        last_claim: highest("claims")?,
        pools: pools::all(sql)?,
        slots: pools::slots(sql, lease)?,
        holds: message_groups::holds(sql, lease)?,
        posts: posts(sql, lease)?,
        published_to: published_to(sql)?,
        pending_workflows: workflows::pending(sql, lease)?,
        last_events: workflows::last_events(sql, lease)?,
    })
}

/// Messages of the lease's groups that were to be published.
fn posts(sql: &dyn Sql, lease: &Lease) -> Result<Vec<Post>> {
    let text = "select step_id, attempt, dispatch_group from outbox order by step_id";
    let mut posts = sql.rows(text, params![], |row| {
        let (step, dispatch_group) = (StepId::from_bytes(row.get(0)?), DispatchGroup(rows::shared(row, 2)?));
        Ok(Post { step, attempt: row.get(1)?, dispatch_group })
    })?;
    posts.retain(|post| lease.groups.iter().any(|(group, _)| *group == post.dispatch_group));
    Ok(posts)
}

/// To which queue each dispatch group's messages went last.
fn published_to(sql: &dyn Sql) -> Result<BTreeMap<DispatchGroup, Name>> {
    let text = "select dispatch_group, published_to from dispatch_groups where published_to is not null";
    let row = |row: &Row| Ok((DispatchGroup(rows::shared(row, 0)?), rows::shared(row, 1)?));
    Ok(sql.rows(text, params![], row)?.into_iter().collect())
}

/// Sessions in other processes whose node has ended.
fn left(sql: &dyn Sql, lease: &Lease) -> Result<Vec<SessionRow>> {
    let text = format!(
        "select {SESSION_COLUMNS} from sessions s
          where remote = 1 and ended_at is null and node_id <> $1
            and not exists (select 1 from nodes n where n.id = s.node_id and n.ended_at is null) order by id"
    );
    sql.rows(&text, params![lease.node], rows::session)
}

/// Steps of the lease's groups that a session holds by their own row; in one order everywhere, for what is decided for them
/// follows it.
fn held(sql: &dyn Sql, lease: &Lease) -> Result<Vec<Step>> {
    let text = "select {columns} from steps
                 where session_id is not null and state in ('dispatched', 'running') and dispatch_group = $1 order by id";
    let mut held = Vec::new();
    for (group, _) in &lease.groups {
        held.extend(many(sql, text, params![group.as_str()])?);
    }
    held.sort_unstable_by_key(|step| step.id);
    Ok(held)
}

/// Blocks of the lease's groups that have not come to rest.
pub fn open_blocks(sql: &dyn Sql, lease: &Lease) -> Result<Vec<Block>> {
    let text = format!("select {BLOCK_COLUMNS} from blocks where home = $1 and is_open = 1 order by id");
    let mut blocks = Vec::new();
    for (group, _) in &lease.groups {
        blocks.extend(sql.rows(&text, params![group.as_str()], rows::block)?);
    }
    Ok(blocks)
}

pub fn ready(sql: &dyn Sql, sort: &Sort, after: Option<StepId>, limit: usize) -> Result<Vec<Step>> {
    let after = after.map_or([0; 16], |id| *id.bytes());
    let (group, queue, priority) = (sort.dispatch_group.as_str(), &*sort.queue, sort.priority.word());
    match &sort.pool {
        None => many(sql, statements::READY_ROOTS, params![group, queue, priority, &after, limit]),
        Some(pool) => {
            many(sql, statements::READY_POOLED, params![group, queue, priority, &after, limit, &**pool])
        }
    }
}

/// Which sorts of ready steps that need no pool a group has, whatever queue they are in.
pub fn ready_queues(sql: &dyn Sql, group: &DispatchGroup) -> Result<Vec<Sort>> {
    sql.rows(statements::READY_QUEUES, params![group.as_str()], |row| {
        let (dispatch_group, queue) = (group.clone(), rows::shared(row, 0)?);
        Ok(Sort { dispatch_group, queue, priority: pools::priority(row, 1)?, pool: None })
    })
}

/// The oldest ready root of a group that is not held back by design.
pub fn oldest_ready(sql: &dyn Sql, group: &DispatchGroup) -> Result<Option<Timestamp>> {
    let oldest: Option<i64> = sql.value(statements::OLDEST_READY, params![group.as_str()])?;
    Ok(oldest.map(Timestamp))
}

/// Steps that wait and are over, read at once.
pub const EXPIRED_PAGE: usize = 1_000;

/// Steps that wait and whose time is over, and when the next one's is.
pub struct Expired {
    pub over: Vec<(StepId, DispatchGroup)>,
    pub next: Option<Timestamp>,
}

pub fn expired(sql: &dyn Sql, now: Timestamp) -> Result<Expired> {
    let waiting = "expires_at is not null and (state = 'pending' or state = 'dispatched')";
    let over = format!(
        "select id, dispatch_group from steps where {waiting} and expires_at <= $1 order by expires_at, id limit $2"
    );
    let over = sql.rows(&over, params![now, EXPIRED_PAGE], |row| {
        Ok((StepId::from_bytes(row.get(0)?), DispatchGroup(rows::shared(row, 1)?)))
    })?;
    let next: Option<i64> = sql.value(
        &format!("select min(expires_at) from steps where {waiting} and expires_at > $1"),
        params![now],
    )?;
    Ok(Expired { over, next: next.map(Timestamp) })
}

pub fn at_index(
    sql: &dyn Sql,
    block: BlockId,
    kind: StepKind,
    index: u32,
    after: Option<StepId>,
    limit: usize,
) -> Result<Vec<Step>> {
    let after = after.map_or([0; 16], |id| *id.bytes());
    many(sql, statements::AT_INDEX, params![block, index, &after, kind.word(), limit])
}

pub fn due(
    sql: &dyn Sql,
    lease: &Lease,
    after: Option<(Timestamp, StepId)>,
    until: Timestamp,
    limit: usize,
) -> Result<Vec<(Timestamp, StepId)>> {
    let (at, id) = after.map_or((i64::MIN, [0; 16]), |(at, id)| (at.0, *id.bytes()));
    if lease.groups.is_empty() {
        return Ok(Vec::new());
    }
    let mut values = params![until, at, &id].to_vec();
    values.extend(lease.groups.iter().map(|(group, _)| Param::from(group.as_str())));
    values.push(Param::from(limit));
    sql.rows(&statements::due(lease.groups.len()), &values, |r| {
        Ok((Timestamp(r.get(0)?), StepId::from_bytes(r.get(1)?)))
    })
}

pub fn whole(sql: &dyn Sql, id: StepId) -> Result<Option<(Step, Detail)>> {
    let text = format!("select {STEP_COLUMNS}, {DETAIL_COLUMNS} from steps where id = $1");
    sql.first(&text, params![id], |row| Ok((rows::step(row)?, rows::detail(row)?)))
}

/// Steps of a block that were cancelled because one before them failed.
pub fn cut_off(sql: &dyn Sql, block: BlockId, above: u32, limit: usize) -> Result<Vec<Step>> {
    let text = "select {columns} from steps where block_id = $1 and block_index > $2 and state = 'cancelled'
                and reason = 'predecessor_failed' order by block_index, id limit $3";
    many(sql, text, params![block, above, limit])
}

/// The claim log of the lease's groups.
fn claims(sql: &dyn Sql, lease: &Lease) -> Result<Vec<ClaimLog>> {
    let text =
        "select c.id, c.session_id, c.tick_id, c.claimed_at, c.pairs, s.host, c.parked, c.dispatch_group
                  from claims c left join sessions s on s.id = c.session_id order by c.id";
    let mut claims = sql.rows(text, params![], |row| {
        let pairs = row.text(4)?;
        Ok(ClaimLog {
            id: row.get(0)?,
            session: SessionId::from_bytes(row.get(1)?),
            dispatch_group: DispatchGroup(rows::shared(row, 7)?),
            tick: row.get::<Option<i64>>(2)?.unwrap_or(0),
            at: Timestamp(row.get(3)?),
            parked: row.get(6)?,
            host: rows::optional_shared(row, 5)?,
            pairs: rows::pairs(pairs).ok_or_else(|| StoreError::Corrupt {
                table: "claims",
                column: "pairs",
                value: pairs.into(),
            })?,
        })
    })?;
    claims.retain(|claim| lease.groups.iter().any(|(group, _)| *group == claim.dispatch_group));
    Ok(claims)
}

/// The tallies, and beside them what signals tell of steps that their owner has still to count.
pub fn tallies(sql: &dyn Sql) -> Result<Vec<(TallyKey, i64)>> {
    let text =
        "select dispatch_group, queue, action, host, state, leaf, throttled, cast(sum(n) as bigint)
           from (select dispatch_group, queue, action, host, state, leaf, throttled, n from tallies
                 union all
                 select dispatch_group, queue, action, host, state, leaf, throttled, n from tally_parts) as counted
          where queue <> '' group by 1, 2, 3, 4, 5, 6, 7 having sum(n) <> 0
         union all
         select dispatch_group, body, '', '', '', 0, 0, 0 from signals
          where answered_at is null and dispatch_group is not null and body like '{\"arrived\"%'";
    let found = sql.rows(text, params![], |row| {
        let (host, state) = (rows::shared(row, 3)?, row.text(4)?);
        if state.is_empty() {
            return uncounted(&DispatchGroup(rows::shared(row, 0)?), row.text(1)?);
        }
        let key = TallyKey {
            dispatch_group: DispatchGroup(rows::shared(row, 0)?),
            queue: rows::shared(row, 1)?,
            action: rows::shared(row, 2)?,
            host: (!host.is_empty()).then_some(host),
            state: state.parse().map_err(|_| StoreError::Corrupt {
                table: "tallies",
                column: "state",
                value: state.into(),
            })?,
            leaf: row.get(5)?,
            throttled: row.get(6)?,
        };
        Ok(vec![(key, row.get(7)?)])
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// How many workflows of each definition are open in each state; they are counted in no queue.
pub fn workflow_tallies(sql: &dyn Sql, limit: usize) -> Result<Vec<(String, WorkflowState, i64)>> {
    let text = "select action, state, cast(sum(n) as bigint)
           from (select queue, action, state, n from tallies
                 union all select queue, action, state, n from tally_parts) as counted
          where queue = '' group by 1, 2 having sum(n) <> 0 order by 1, 2 limit $1";
    sql.rows(text, params![limit], |row| {
        let state = row.text(1)?;
        let corrupt = || StoreError::Corrupt { table: "tallies", column: "state", value: state.into() };
        Ok((row.get(0)?, state.parse().map_err(|_| corrupt())?, row.get(2)?))
    })
}

fn uncounted(group: &DispatchGroup, body: &str) -> Result<Vec<(TallyKey, i64)>> {
    #[derive(serde::Deserialize)]
    struct Signal {
        arrived: Arrived,
    }
    #[derive(serde::Deserialize)]
    struct Arrived {
        #[serde(default)]
        uncounted: Vec<(Name, Name, i64)>,
    }
    let strange = |_| StoreError::Corrupt { table: "signals", column: "body", value: body.into() };
    let Signal { arrived } = serde_json::from_str(body).map_err(strange)?;
    let key = |queue, action| TallyKey::of_new(group.clone(), queue, action);
    Ok(arrived.uncounted.into_iter().map(|(queue, action, n)| (key(queue, action), n)).collect())
}

pub fn group_statuses(sql: &dyn Sql) -> Result<Vec<GroupStatus>> {
    let text =
        "select dispatch_group, owner_id, epoch, lease_ends_at, breaker, last_selected_at, current_tick_id,
                last_tick_completed_at, owned_since from dispatch_groups order by ordinal";
    sql.rows(text, params![], group_status)
}

fn group_status(row: &Row) -> Result<GroupStatus> {
    Ok(GroupStatus {
        dispatch_group: DispatchGroup(rows::shared(row, 0)?),
        owner: row.get::<Option<[u8; 16]>>(1)?.map(NodeId::from_bytes),
        epoch: row.get::<i64>(2)?.unsigned_abs(),
        lease_ends_at: rows::time(row, 3)?,
        breaker: read_breaker(row.text(4)?)?,
        last_selected_at: rows::time(row, 5)?,
        current_tick: row.get(6)?,
        last_tick_completed_at: rows::time(row, 7)?,
        owned_since: rows::time(row, 8)?,
    })
}
