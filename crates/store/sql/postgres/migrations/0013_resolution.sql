-- What becomes of a workflow that failed: more states, what was decided about it, and the plan of what is undone.
alter table workflows drop constraint workflows_state_check;
alter table workflows add constraint workflows_state_check check (state in ('pending', 'running', 'paused', 'succeeded', 'failed',
    'cancelled', 'compensating', 'compensated', 'compensation_failed'));
alter table workflows add column auto_retries bigint;
alter table workflows add column auto_retry_at bigint;
alter table workflows add column restarted_at bigint;
alter table workflows add column resolved_at bigint;
alter table workflows add column cancel_requested_at bigint;
alter table workflows add column compensation_started_at bigint;
alter table workflows add column compensated_at bigint;
alter table workflows add column compensations bigint;
alter table workflows add column has_skips bigint;
alter table workflows add column undo text;
drop index workflows_by_key;
create index workflows_by_key on workflows (concurrency_key, state, id)
    where concurrency_key is not null;
drop index workflows_open;
create index workflows_open on workflows (state, id)
    where state = 'pending' or state = 'running' or state = 'paused' or state = 'failed' or state = 'compensating'
    or state = 'compensation_failed';

-- Who decided what about a workflow, and why.
create table resolution_decisions (
    workflow_id bytea not null,
    at bigint not null,
    decision text not null,
    decided_by text not null,
    why text not null,
    retry_from_step text,
    detail text not null
);
create index resolution_decisions_of on resolution_decisions (workflow_id, at);

-- What is undone, in its order; each row names the step that is undone and the one that undoes it.
create table compensation_runs (
    workflow_id bytea not null,
    compensation bigint not null,
    position bigint not null,
    step_key text not null,
    undoes bytea not null,
    action text not null,
    state text not null check (state in ('pending', 'running', 'succeeded', 'failed', 'skipped')),
    step_id bytea,
    items_done bigint not null,
    items_skipped bigint not null,
    cursor_at bigint,
    cursor_id bytea,
    started_at bigint,
    finished_at bigint,
    failure_message text,
    primary key (workflow_id, compensation, position)
);

alter table steps add column retry_source text;
alter table steps_archive add column retry_source text;

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
       s.block_cleared_why, s.workflow_id, s.def, s.run, s.item, s.branch_key, s.timeout, s.retry_source
  from steps s left join claimed c on c.step_id = s.id and s.state = 'pending' and c.attempt = s.attempt + 1;
