-- Workflows: runs of definitions. The steps of one are rows of `steps` that name it, the step of the definition (`def`, from 0) and
-- the how-manieth run of that it is.
create table definitions (
    key text collate "C" not null check (key <> ''),
    version text collate "C" not null check (version <> ''),
    major bigint not null,
    minor bigint not null,
    patch bigint not null,
    hash text not null,
    text text not null,
    created_at bigint not null,
    created_by text not null,
    primary key (key, version)
);

create table workflows (
    id bytea primary key check (length(id) = 16),
    definition_key text collate "C" not null,
    definition_version text collate "C" not null,
    definition_hash text not null,
    dispatch_group text not null check (dispatch_group <> ''),
    state text not null check (state in ('pending', 'running', 'paused', 'succeeded', 'failed', 'cancelled')),
    message text,
    parent_step_id bytea,
    depth bigint not null,
    input text not null,
    output text,
    labels text not null,
    created_at bigint not null,
    started_at bigint,
    completed_at bigint,
    wake_at bigint,
    concurrency_key text collate "C",
    expected_at bigint,
    version bigint not null default 0
);
-- Those that somebody made and nobody has begun, those that are looked at again, those that count against a limit, those that
-- another workflow waits for, and those that people look for.
create index workflows_pending on workflows (dispatch_group, id) where state = 'pending' and concurrency_key is null;
create index workflows_wake on workflows (wake_at, id) where wake_at is not null;
create index workflows_by_key on workflows (concurrency_key, state, id)
    where concurrency_key is not null and state in ('pending', 'running', 'paused');
create index workflows_of_step on workflows (parent_step_id) where parent_step_id is not null;
create index workflows_by_definition on workflows (definition_key, id);
create index workflows_open on workflows (state, id) where state in ('pending', 'running', 'paused', 'failed');

create table workflow_labels (
    name text collate "C" not null,
    value text collate "C" not null,
    workflow_id bytea not null,
    primary key (name, value, workflow_id)
);
create index workflow_labels_of on workflow_labels (workflow_id);

alter table steps add column workflow_id bytea;
alter table steps add column def bigint;
alter table steps add column run bigint;
alter table steps add column item bigint;
alter table steps add column branch_key text;
alter table steps add column timeout bigint;
alter table steps_archive add column workflow_id bytea;
alter table steps_archive add column def bigint;
alter table steps_archive add column run bigint;
alter table steps_archive add column item bigint;
alter table steps_archive add column branch_key text;
alter table steps_archive add column timeout bigint;
alter table blocks add column to_come bigint not null default 0;
alter table blocks add column held bigint not null default 0;
alter table blocks_archive add column to_come bigint not null default 0;
alter table blocks_archive add column held bigint not null default 0;
create index steps_of_workflow on steps (workflow_id, def, run) where workflow_id is not null and block_id is null;

-- What happened to a workflow, numbered within its dispatch group in the order of the commits.
create table workflow_events (
    dispatch_group text collate "C" not null,
    number bigint not null,
    workflow_id bytea not null,
    at bigint not null,
    type text not null,
    step_key text,
    data text,
    primary key (dispatch_group, number)
);
create index workflow_events_of on workflow_events (workflow_id, number);

-- Which way was taken, and from what.
create table branch_decisions (
    workflow_id bytea not null,
    step_key text not null,
    kind text not null,
    expression text not null,
    result text not null,
    inputs text not null,
    at bigint not null
);
create index branch_decisions_of on branch_decisions (workflow_id, at);

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
       s.block_cleared_why, s.workflow_id, s.def, s.run, s.item, s.branch_key, s.timeout
  from steps s left join claimed c on c.step_id = s.id and s.state = 'pending' and c.attempt = s.attempt + 1;
alter table workflows set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
