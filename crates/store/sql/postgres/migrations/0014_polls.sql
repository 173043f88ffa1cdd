-- Polls: steps of workflows that are asked again and again. When the first poll began, and what the last one said; what is known of
-- each of the last ones; and those that wait for the next, by its time.
alter table steps add column poll_started_at bigint;
alter table steps add column poll_data text;
alter table steps_archive add column poll_started_at bigint;
alter table steps_archive add column poll_data text;
create index steps_polling on steps (wake_at, id) where state = 'polling';
-- Between two polls a step keeps its place in the line of its message group.
drop index steps_line;
create index steps_line on steps (dispatch_group, message_group, joined desc, sequence, place)
    where state in ('pending', 'polling') and joined > 0;

create table poll_attempts (
    step_id bytea not null,
    number bigint not null,
    attempt bigint not null,
    result_complete bigint not null,
    result_continue bigint not null,
    next_interval_ms bigint,
    executed_at bigint not null,
    data text,
    primary key (step_id, number)
);

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
       s.block_cleared_why, s.workflow_id, s.def, s.run, s.item, s.branch_key, s.timeout, s.retry_source,
       s.poll_started_at, s.poll_data
  from steps s left join claimed c on c.step_id = s.id and s.state = 'pending' and c.attempt = s.attempt + 1;
