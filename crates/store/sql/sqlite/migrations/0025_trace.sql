-- The trace that work was asked for in, as W3C trace context writes it: the header `traceparent`, and what `tracestate` said.
alter table steps add column trace text;
alter table steps_archive add column trace text;
alter table workflows add column trace text;

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
       s.relatable_type, s.relatable_id, s.superseded_by, s.was_throttled, s.was_notified, s.late_reports, s.look, s.pool,
       s.message_group, s.mode, s.sequence, s.place, s.joined, s.expires_at, s.block_cleared_at, s.block_cleared_by,
       s.block_cleared_why, s.workflow_id, s.def, s.run, s.item, s.branch_key, s.timeout, s.retry_source,
       s.poll_started_at, s.poll_data, s.trace
  from steps s left join claimed c on c.step_id = s.id and s.state = 'pending' and c.attempt = s.attempt + 1;
