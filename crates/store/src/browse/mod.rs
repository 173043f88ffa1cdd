//! Reads for people, on a connection of their own, never inside a turn.

mod attempts;
mod audit;
mod behind;
mod half_done;
mod minutes;
mod nouns;
mod pauses;
mod polls;
mod reach;
mod statuses;
mod workflows;

pub use attempts::{ATTEMPTS_PAGE_MAX, AttemptKey};
#[cfg(test)]
pub(crate) use audit::texts as audit_texts;
pub use audit::{AuditFilter, AuditRow};
pub use behind::{DecisionPlace, NoticePlace, PausePlace};
pub use nouns::{Filter, StepRow, Totals};
pub use polls::PollFilter;
pub use reach::Listed;
pub use workflows::{
    DefinitionKey, DefinitionLine, EventLine, WORKFLOWS_AT_ONCE, WorkflowCourse, WorkflowFilter,
};

use crate::batch::{NodeRow, SessionRow};
use crate::executions::{self, ExecutionFilter, ExecutionLine, ExecutionShown};
use crate::sql::{Access, Param, Sql};
use crate::statements::{
    DETAIL_COLUMNS, OLDEST_DUE, OLDEST_PENDING, OLDEST_POOLED, SESSION_COLUMNS, STEP_COLUMNS,
};
use crate::{
    Browser, EventRow, KeyHash, Result, StoreError, browsers, channels, keys, params, pools, previous, reads,
    rows, settings, subscriptions,
};
use model::{
    Block, BlockId, Breaker, ChannelSends, ExecutionName, GroupStatus, Key, LogLine, NodeId, PoolUse,
    SessionId, StepId, Subscription, SubscriptionId, Timestamp, limits,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub struct Browse {
    sql: Box<dyn Sql + Send>,
    place: String,
}

impl Browse {
    /// Read through a connection; `place` is what people call the database.
    pub fn new(sql: Box<dyn Sql + Send>, place: String) -> Browse {
        Browse { sql, place }
    }

    /// Where the database is, for people.
    pub fn place(&self) -> &str {
        &self.place
    }

    #[cfg(test)]
    pub(crate) fn into_sql(self) -> Box<dyn Sql + Send> {
        self.sql
    }

    pub(crate) fn sql(&self) -> &dyn Sql {
        &*self.sql
    }

    /// Several questions about one moment, so that their answers agree whatever is written meanwhile.
    pub fn at_one_moment<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.sql().transaction(Access::Read, |_| work())
    }

    pub fn step(&self, id: StepId) -> Result<Option<StepRow>> {
        Ok(self.query("where id = $1", params![id])?.into_iter().next())
    }

    /// Where it runs, without what it carries.
    pub fn step_queue(&self, id: StepId) -> Result<Option<String>> {
        let found =
            self.sql().rows("select queue from steps_now where id = $1", params![id], |row| row.get(0))?;
        Ok(found.into_iter().next())
    }

    /// Whether a block holds a step that runs in none of these queues.
    pub fn block_reaches_beyond(&self, block: BlockId, queues: &[String]) -> Result<bool> {
        let (mut values, places): (Vec<Param>, _) = (vec![block.into()], places(2, queues.len()));
        values.extend(queues.iter().cloned().map(Param::from));
        let text = format!("select 1 from steps_now where block_id = $1 and queue not in ({places}) limit 1");
        Ok(!self.sql().rows(&text, &values, |row| row.get::<i64>(0))?.is_empty())
    }

    pub fn steps(&self, filter: &Filter) -> Result<Vec<StepRow>> {
        self.steps_down_to(filter, None)
    }

    /// The same, and none that is older than this one.
    pub fn steps_down_to(&self, filter: &Filter, oldest: Option<StepId>) -> Result<Vec<StepRow>> {
        let (condition, values) = conditions(filter, oldest);
        self.query(&format!("{condition} {}", tail(filter)), &values)
    }

    /// The ids alone, for whoever does something to each.
    pub fn step_ids(&self, filter: &Filter) -> Result<Vec<StepId>> {
        let (condition, values) = conditions(filter, None);
        let text = format!("select id from steps_now {condition} {}", tail(filter));
        self.sql().rows(&text, &values, |row| Ok(StepId::from_bytes(row.get(0)?)))
    }

    /// How many there are, counted up to so many.
    pub fn count_steps(&self, filter: &Filter, most: usize) -> Result<u64> {
        let (condition, values) = conditions(filter, None);
        let text = format!(
            "select count(*) from (select 1 as one from steps_now {condition} limit {most}) as found"
        );
        self.sql().value(&text, &values)
    }

    fn query(&self, tail: &str, values: &[Param]) -> Result<Vec<StepRow>> {
        self.query_rows("steps_now", tail, values)
    }

    /// Rows of steps as they are now, for what is looked for elsewhere.
    pub(crate) fn step_rows(&self, tail: &str, values: &[Param]) -> Result<Vec<StepRow>> {
        self.query(tail, values)
    }

    fn query_rows(&self, table: &str, tail: &str, values: &[Param]) -> Result<Vec<StepRow>> {
        let sql = format!("select {STEP_COLUMNS}, {DETAIL_COLUMNS} from {table} {tail}");
        self.sql()
            .rows(&sql, values, |row| Ok(StepRow { step: rows::step(row)?, detail: rows::detail(row)? }))
    }

    /// What the steps before this one answered; none if that is too much to be told at once.
    pub fn previous(&self, id: StepId) -> Result<Option<Vec<String>>> {
        previous(self.sql(), id)
    }

    pub fn block(&self, id: BlockId) -> Result<Option<Block>> {
        reads::block(self.sql(), id)
    }

    pub fn totals(&self) -> Result<Totals> {
        let alone: Option<i64> = self.sql().value(OLDEST_PENDING, params![])?;
        let pooled: Option<i64> = self.sql().value(OLDEST_POOLED, params![])?;
        let oldest = alone.into_iter().chain(pooled).min();
        Ok(Totals { tallies: reads::tallies(self.sql())?, oldest_pending: oldest.map(Timestamp) })
    }

    /// Since when the first of those that had to wait for a time could start.
    pub fn oldest_due(&self, now: Timestamp) -> Result<Option<Timestamp>> {
        let due: Option<i64> = self.sql().value(OLDEST_DUE, params![now])?;
        Ok(due.map(Timestamp))
    }

    /// Messages that are to be published, and since when the first of them is.
    pub fn unpublished(&self) -> Result<(i64, Option<Timestamp>)> {
        let text = format!(
            "select count(*), min(at) from (select at from outbox limit {}) as unpublished",
            limits::COUNTED_MAX
        );
        let counted = self.sql().rows(&text, params![], |row| {
            let since: Option<i64> = row.get(1)?;
            Ok((row.get(0)?, since.map(Timestamp)))
        })?;
        Ok(counted.first().copied().unwrap_or_default())
    }

    pub fn groups(&self) -> Result<Vec<GroupStatus>> {
        reads::group_statuses(self.sql())
    }

    pub fn breaker(&self) -> Result<Breaker> {
        settings::global_breaker(self.sql())
    }

    /// The last that were heard of, those that have not ended before the others; told by their start, newest first.
    pub fn nodes(&self) -> Result<Vec<NodeRow>> {
        let sql = "select id, host, pid, url, version, machine, started_at, seen_at, ended_at, limited_to, standby from nodes
                   order by (ended_at is null) desc, seen_at desc, id desc limit 100";
        let mut nodes = self.sql().rows(sql, params![], |r| {
            Ok(NodeRow {
                id: NodeId::from_bytes(r.get(0)?),
                host: r.get(1)?,
                pid: r.get(2)?,
                url: r.get(3)?,
                version: r.get(4)?,
                machine: r.get(5)?,
                limited_to: serde_json::from_str(r.text(9)?).unwrap_or_default(),
                standby: r.get(10)?,
                started_at: Timestamp(r.get(6)?),
                seen_at: Timestamp(r.get(7)?),
                ended_at: rows::time(r, 8)?,
            })
        })?;
        nodes.sort_unstable_by_key(|node| Reverse((node.started_at, node.id)));
        Ok(nodes)
    }

    pub fn sessions(&self) -> Result<Vec<SessionRow>> {
        let sql = format!(
            "select {SESSION_COLUMNS} from sessions where ended_at is null order by started_at, id limit 1000"
        );
        self.sql().rows(&sql, params![], rows::session)
    }

    pub fn session(&self, id: SessionId) -> Result<Option<SessionRow>> {
        self.sql().first(
            &format!("select {SESSION_COLUMNS} from sessions where id = $1"),
            params![id],
            rows::session,
        )
    }

    /// What a step's runs said, oldest first.
    pub fn log(&self, step: StepId) -> Result<Vec<(u32, LogLine)>> {
        let sql = "select attempt, at, text from step_logs where step_id = $1 order by attempt, n";
        self.sql().rows(sql, params![step], |r| {
            Ok((r.get(0)?, LogLine { at: Timestamp(r.get(1)?), text: r.get(2)? }))
        })
    }

    /// The last moves of a step, up to `PAGE_ROWS_MAX`, oldest first.
    pub fn history(&self, step: StepId) -> Result<Vec<(Timestamp, EventRow)>> {
        let sql = format!(
            "select at, from_state, event, to_state, attempt from events where entity_id = $1 order by seq desc limit {}",
            limits::PAGE_ROWS_MAX
        );
        let mut moves = self.sql().rows(&sql, params![step], |r| {
            let to: String = r.get(3)?;
            let row = EventRow {
                at: Timestamp(r.get(0)?),
                step,
                from: r.get::<Option<String>>(1)?.and_then(|s| s.parse().ok()),
                event: r.get::<Option<String>>(2)?.and_then(|s| s.parse().ok()),
                to: to.parse().map_err(|_| StoreError::Corrupt {
                    table: "events",
                    column: "to_state",
                    value: to,
                })?,
                attempt: r.get(4)?,
            };
            Ok((Timestamp(r.get(0)?), row))
        })?;
        moves.reverse();
        Ok(moves)
    }

    /// Every pool, by name.
    pub fn pools(&self) -> Result<Vec<PoolUse>> {
        pools::all(self.sql())
    }

    /// Every API key, newest first.
    pub fn keys(&self) -> Result<Vec<Key>> {
        keys::all(self.sql())
    }

    /// Subscriptions, oldest first, behind one.
    pub fn subscriptions(&self, after: Option<SubscriptionId>, limit: usize) -> Result<Vec<Subscription>> {
        let rows = subscriptions::page(self.sql(), after, limit)?;
        Ok(rows.into_iter().map(|row| row.subscription).collect())
    }

    pub fn subscription(&self, id: SubscriptionId) -> Result<Option<Subscription>> {
        Ok(subscriptions::find(self.sql(), id)?.map(|row| row.subscription))
    }

    /// Channels by name, each with what it was sent.
    pub fn channels(&self) -> Result<Vec<(channels::Stored, ChannelSends)>> {
        let mut sends: BTreeMap<String, ChannelSends> = channels::sends(self.sql())?.into_iter().collect();
        let of = |stored: channels::Stored| {
            let sends = sends.remove(&stored.channel.name).unwrap_or_default();
            (stored, sends)
        };
        Ok(channels::all(self.sql())?.into_iter().map(of).collect())
    }

    /// The API keys that are not revoked, with what is kept of their secrets.
    pub fn kept_keys(&self) -> Result<Vec<(Key, KeyHash)>> {
        keys::kept(self.sql())
    }

    /// Browsers that may be signed in.
    pub fn browsers(&self) -> Result<Vec<Browser>> {
        browsers::all(self.sql())
    }

    pub fn executions(&self, filter: &ExecutionFilter) -> Result<Vec<ExecutionLine>> {
        executions::list(self.sql(), filter)
    }

    /// The same, and none that was begun before.
    pub fn executions_since(&self, filter: &ExecutionFilter, since: Timestamp) -> Result<Vec<ExecutionLine>> {
        executions::list_since(self.sql(), filter, Some(since))
    }

    pub fn execution(&self, name: &ExecutionName) -> Result<Option<ExecutionShown>> {
        executions::show(self.sql(), name)
    }

    /// Steps that a worker may be running right now, parked parents left out.
    pub fn in_flight(&self, dispatch_group: Option<&str>) -> Result<i64> {
        // By the index of held rows and the log, so that neither history nor waiting parents are looked at.
        let sql = "select (select count(*) from steps
                            where session_id is not null and state in ('dispatched', 'running')
                              and (cast($1 as text) is null or dispatch_group = $1))
                        + (select count(*) from claimed c join steps s on s.id = c.step_id
                            where c.parked = 0 and s.state = 'pending' and s.attempt + 1 = c.attempt
                              and (cast($1 as text) is null or s.dispatch_group = $1))";
        self.sql().value(sql, params![dispatch_group])
    }
}

/// What must hold of a step, as text, and the values in it.
fn conditions(filter: &Filter, oldest: Option<StepId>) -> (String, Vec<Param<'static>>) {
    let mut conditions = Vec::new();
    let mut values: Vec<Param<'static>> = Vec::new();
    let mut equal = |column: &str, value: Option<Param<'static>>| {
        if let Some(value) = value {
            values.push(value);
            conditions.push(format!("{column} = ${}", values.len()));
        }
    };
    let text = |t: &Option<String>| t.clone().map(Param::from);
    equal("action", text(&filter.action));
    equal("queue", text(&filter.queue));
    equal("dispatch_group", text(&filter.dispatch_group));
    equal("step_key", text(&filter.step_key));
    equal("relatable_type", text(&filter.relatable_type));
    equal("relatable_id", text(&filter.relatable_id));
    equal("message_group", text(&filter.message_group));
    equal("pool", text(&filter.pool));
    equal("block_id", filter.block.map(Param::from));
    equal("workflow_id", filter.workflow.map(Param::from));
    if !filter.queues.is_empty() {
        conditions.push(format!("queue in ({})", places(values.len() + 1, filter.queues.len())));
        values.extend(filter.queues.iter().cloned().map(Param::from));
    }
    if !filter.states.is_empty() {
        conditions.push(format!("state in ({})", statuses::listed(&filter.states)));
    }
    if !filter.statuses.is_empty() {
        conditions.push(statuses::condition(&filter.statuses));
    }
    if let Some(after) = filter.after {
        values.push(after.into());
        conditions.push(format!("id {} ${}", if filter.ascending { ">" } else { "<" }, values.len()));
    }
    if let Some(oldest) = oldest {
        values.push(oldest.into());
        conditions.push(format!("id >= ${}", values.len()));
    }
    let condition =
        if conditions.is_empty() { String::new() } else { format!("where {}", conditions.join(" and ")) };
    (condition, values)
}

/// Places for so many values.
fn places(first: usize, n: usize) -> String {
    (first..first + n).map(|n| format!("${n}")).collect::<Vec<_>>().join(", ")
}

/// In which order, and how many.
fn tail(filter: &Filter) -> String {
    let order = if filter.ascending { "asc" } else { "desc" };
    format!("order by id {order} limit {}", filter.limit.clamp(1, limits::PAGE_ROWS_MAX))
}
