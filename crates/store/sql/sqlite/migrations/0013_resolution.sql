-- What becomes of a workflow that failed: more states, what was decided about it, and the plan of what is undone. A state has a check,
-- so the table is made anew.
-- Lists of states are chains of `or`: a list of more than two words costs a table of its own for every row that is written.
create table workflows_new (
    id blob primary key check (length(id) = 16),
    definition_key text not null,
    definition_version text not null,
    definition_hash text not null,
    dispatch_group text not null check (dispatch_group <> ''),
    state text not null check (state = 'pending' or state = 'running' or state = 'paused' or state = 'succeeded' or state = 'failed'
        or state = 'cancelled' or state = 'compensating' or state = 'compensated' or state = 'compensation_failed'),
    message text,
    parent_step_id blob,
    depth integer not null,
    input text not null,
    output text,
    labels text not null,
    created_at integer not null,
    started_at integer,
    completed_at integer,
    wake_at integer,
    concurrency_key text,
    expected_at integer,
    version integer not null default 0,
    auto_retries integer,
    auto_retry_at integer,
    restarted_at integer,
    resolved_at integer,
    cancel_requested_at integer,
    compensation_started_at integer,
    compensated_at integer,
    compensations integer,
    has_skips integer,
    undo text
) without rowid;
insert into workflows_new (id, definition_key, definition_version, definition_hash, dispatch_group, state, message, parent_step_id,
        depth, input, output, labels, created_at, started_at, completed_at, wake_at, concurrency_key, expected_at, version)
    select id, definition_key, definition_version, definition_hash, dispatch_group, state, message, parent_step_id,
        depth, input, output, labels, created_at, started_at, completed_at, wake_at, concurrency_key, expected_at, version
    from workflows;
drop table workflows;
alter table workflows_new rename to workflows;
create index workflows_pending on workflows (dispatch_group, id) where state = 'pending' and concurrency_key is null;
create index workflows_wake on workflows (wake_at, id) where wake_at is not null;
create index workflows_by_key on workflows (concurrency_key, state, id)
    where concurrency_key is not null;
create index workflows_of_step on workflows (parent_step_id) where parent_step_id is not null;
create index workflows_by_definition on workflows (definition_key, id);
create index workflows_open on workflows (state, id)
    where state = 'pending' or state = 'running' or state = 'paused' or state = 'failed' or state = 'compensating'
    or state = 'compensation_failed';

-- Who decided what about a workflow, and why.
create table resolution_decisions (
    workflow_id blob not null,
    at integer not null,
    decision text not null,
    decided_by text not null,
    why text not null,
    retry_from_step text,
    detail text not null
);
create index resolution_decisions_of on resolution_decisions (workflow_id, at);

-- What is undone, in its order; each row names the step that is undone and the one that undoes it.
create table compensation_runs (
    workflow_id blob not null,
    compensation integer not null,
    position integer not null,
    step_key text not null,
    undoes blob not null,
    action text not null,
    state text not null check (state = 'pending' or state = 'running' or state = 'succeeded' or state = 'failed' or state = 'skipped'),
    step_id blob,
    items_done integer not null,
    items_skipped integer not null,
    cursor_at integer,
    cursor_id blob,
    started_at integer,
    finished_at integer,
    failure_message text,
    primary key (workflow_id, compensation, position)
) without rowid;

alter table steps add column retry_source text;
alter table steps_archive add column retry_source text;

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
       s.block_cleared_why, s.workflow_id, s.def, s.run, s.item, s.branch_key, s.timeout, s.retry_source
  from steps s left join claimed c on c.step_id = s.id and s.state = 'pending' and c.attempt = s.attempt + 1;
