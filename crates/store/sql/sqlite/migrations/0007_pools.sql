-- Pools: named limits that steps share. A slot of a pool is a row beside the step that a worker has, and goes with it; the rate is
-- one instant, until when the starts so far would have lasted had they come evenly.
create table pools (
    name text primary key check (name <> ''),
    concurrency integer,
    rate_starts integer,
    rate_per integer,
    rate_burst integer,
    full_until integer not null default 0
) without rowid;
-- Nodes that asked in vain, in the order in which they are served.
create table pool_waits (
    pool text not null,
    node_id blob not null,
    since integer not null,
    seen_at integer not null,
    primary key (pool, node_id)
) without rowid;
create table pool_slots (
    step_id blob primary key,
    pool text not null,
    dispatch_group text not null,
    at integer not null
) without rowid;
create index pool_slots_of on pool_slots (pool);

alter table steps add column pool text;
alter table steps_archive add column pool text;
-- What waits for a pool is found apart, so that a full pool holds up nobody else.
drop index steps_ready;
create index steps_ready on steps (dispatch_group, queue, priority, id)
    where state = 'pending' and block_id is null and wake_at is null and pool is null;
create index steps_pooled on steps (pool, dispatch_group, queue, priority, id)
    where state = 'pending' and block_id is null and wake_at is null and pool is not null;

drop view steps_now;
-- Steps as they are now: the row, or the claim that is newer than the row.
create view steps_now as
select s.id, s.dispatch_group, s.queue, s.action, s.priority, s.kind, s.block_id, s.block_index, s.child_block_id,
       case when c.step_id is null then s.state else 'running' end as state,
       case when c.step_id is null then s.reason end as reason,
       coalesce(c.parked, s.parked) as parked, case when c.step_id is null then s.throttled else 0 end as throttled,
       case when c.step_id is null then s.wake_at end as wake_at,
       coalesce(c.attempt, s.attempt) as attempt, s.failed_attempts, s.lost_attempts, s.polls, s.max_attempts,
       s.retry_delay, s.retry_factor, s.retry_max_delay,
       coalesce(c.session_id, s.session_id) as session_id, coalesce(c.host, s.host) as host,
       coalesce(c.tick_id, s.tick_id) as tick_id, s.version, s.created_at,
       coalesce(c.claimed_at, s.dispatched_at) as dispatched_at, coalesce(c.claimed_at, s.started_at) as started_at,
       s.completed_at, s.arguments, s.response, s.error_message, s.error_stack_trace, s.note, s.step_key, s.label,
       s.relatable_type, s.relatable_id, s.superseded_by, s.was_throttled, s.was_notified, s.late_reports, s.look, s.pool
  from steps s left join claimed c on c.step_id = s.id and s.state = 'pending' and c.attempt = s.attempt + 1;
