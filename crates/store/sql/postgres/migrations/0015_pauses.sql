-- Pauses: those behind a step of a workflow wait for a trigger or for a date. The step itself has ended.
create table pauses (
    workflow_id bytea not null,
    def bigint not null,
    run bigint not null,
    step_id bytea not null,
    step_key text collate "C" not null,
    kind text not null check (kind in ('trigger', 'scheduled')),
    trigger_key text collate "C" check ((kind = 'trigger') = (trigger_key is not null)),
    token_hash bytea,
    registered_at bigint not null,
    timeout_at bigint,
    resume_at bigint,
    reminders bigint not null default 0,
    state text not null check (state in ('waiting', 'resumed', 'timed_out', 'cancelled')),
    ended_at bigint check ((state = 'waiting') = (ended_at is null)),
    consumed bigint,
    version bigint not null default 0,
    primary key (workflow_id, def, run)
);
-- One waits for each trigger. Those that wait, as people look for them, and as their times come.
create unique index pauses_of_trigger on pauses (workflow_id, trigger_key) where state = 'waiting' and trigger_key is not null;
create index pauses_waiting on pauses (registered_at, workflow_id, def) where state = 'waiting';
create index pauses_due on pauses (coalesce(timeout_at, resume_at), workflow_id, def) where state = 'waiting';

-- What was sent to triggers, numbered within the workflow in the order of arrival.
create table trigger_payloads (
    workflow_id bytea not null,
    number bigint not null,
    trigger_key text collate "C" not null,
    webhook_id text collate "C",
    payload text,
    received_at bigint not null,
    source text,
    identity text not null,
    verdict text not null check (verdict in ('accepted', 'rejected', 'early', 'late', 'duplicate')),
    why text,
    run bigint,
    primary key (workflow_id, number)
);
-- The same message again, and what waits for its pause to begin.
create index trigger_payloads_message on trigger_payloads (workflow_id, trigger_key, webhook_id) where webhook_id is not null;
create index trigger_payloads_early on trigger_payloads (workflow_id, number) where verdict = 'early';

-- Why a workflow is paused: a person, a step that failed, or triggers that it waits for.
alter table workflows add column paused_by text;
