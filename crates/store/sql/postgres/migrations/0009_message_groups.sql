-- Message groups: steps that are done one after another. `joined` is 1 for a step in the line and 2 for one that
-- was claimed before, `place` says whose place it has there;
-- a step without a mode is done in no order.
alter table steps add column message_group text collate "C";
alter table steps add column mode text;
alter table steps add column sequence bigint;
alter table steps add column place bytea;
alter table steps add column joined smallint not null default 0;
alter table steps add column expires_at bigint;
alter table steps add column block_cleared_at bigint;
alter table steps add column block_cleared_by text;
alter table steps add column block_cleared_why text;
alter table steps_archive add column message_group text collate "C";
alter table steps_archive add column mode text;
alter table steps_archive add column sequence bigint;
alter table steps_archive add column place bytea;
alter table steps_archive add column joined smallint not null default 0;
alter table steps_archive add column expires_at bigint;
alter table steps_archive add column block_cleared_at bigint;
alter table steps_archive add column block_cleared_by text;
alter table steps_archive add column block_cleared_why text;
-- The line of each message group: who was claimed before, then by rank.
create index steps_line on steps (dispatch_group, message_group, joined desc, sequence, place)
    where state = 'pending' and joined > 0;
-- One at a time: the owner of the group sees to it, and this refuses whoever does not.
create unique index steps_in_flight on steps (message_group)
    where mode is not null and parked = 0 and (state = 'dispatched' or state = 'running');
create index steps_expire on steps (expires_at, id) where expires_at is not null and (state = 'pending' or state = 'dispatched');
drop index steps_ready;
create index steps_ready on steps (dispatch_group, queue, priority, id)
    where state = 'pending' and block_id is null and wake_at is null and pool is null and mode is null;
drop index steps_pooled;
create index steps_pooled on steps (pool, dispatch_group, queue, priority, id)
    where state = 'pending' and block_id is null and wake_at is null and pool is not null and mode is null;

drop view steps_now;
-- Steps as they are now: the row, or the claim that is newer than the row.
create view steps_now as
select s.id, s.dispatch_group, s.queue, s.action, s.priority, s.kind, s.block_id, s.block_index, s.child_block_id,
       case when c.step_id is null then s.state else 'running' end as state,
       case when c.step_id is null then s.reason end as reason,
       coalesce(c.parked, s.parked) as parked, case when c.step_id is null then s.throttled else 0::smallint end as throttled,
       case when c.step_id is null then s.wake_at end as wake_at,
       coalesce(c.attempt, s.attempt) as attempt, s.failed_attempts, s.lost_attempts, s.polls, s.max_attempts,
       s.retry_delay, s.retry_factor, s.retry_max_delay,
       coalesce(c.session_id, s.session_id) as session_id, coalesce(c.host, s.host) as host,
       coalesce(c.tick_id, s.tick_id) as tick_id, s.version, s.created_at,
       coalesce(c.claimed_at, s.dispatched_at) as dispatched_at, coalesce(c.claimed_at, s.started_at) as started_at,
       s.completed_at, s.arguments, s.response, s.error_message, s.error_stack_trace, s.note, s.step_key, s.label,
       s.relatable_type, s.relatable_id, s.superseded_by, s.was_throttled, s.was_notified, s.late_reports, s.look, s.pool,
       s.message_group, s.mode, s.sequence, s.place, s.joined, s.expires_at, s.block_cleared_at, s.block_cleared_by,
       s.block_cleared_why
  from steps s left join claimed c on c.step_id = s.id and s.state = 'pending' and c.attempt = s.attempt + 1;
-- What holds a message group back: a step of it that failed, or a person who paused it (without a step).
create table message_groups (
    message_group text collate "C" not null,
    blocked_by bytea not null,
    dispatch_group text not null,
    at bigint not null,
    by_whom text,
    why text,
    primary key (message_group, blocked_by)
);

