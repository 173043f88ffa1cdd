-- Pauses: those behind a step of a workflow wait for a trigger or for a date. The step itself has ended.
create table pauses (
    workflow_id blob not null,
    def integer not null,
    run integer not null,
    step_id blob not null,
    step_key text not null,
    kind text not null check (kind = 'trigger' or kind = 'scheduled'),
    trigger_key text check ((kind = 'trigger') = (trigger_key is not null)),
    token_hash blob,
    registered_at integer not null,
    timeout_at integer,
    resume_at integer,
    reminders integer not null default 0,
    state text not null check (state = 'waiting' or state = 'resumed' or state = 'timed_out' or state = 'cancelled'),
    ended_at integer check ((state = 'waiting') = (ended_at is null)),
    consumed integer,
    version integer not null default 0,
    primary key (workflow_id, def, run)
) without rowid;
-- One waits for each trigger. Those that wait, as people look for them, and as their times come.
create unique index pauses_of_trigger on pauses (workflow_id, trigger_key) where state = 'waiting' and trigger_key is not null;
create index pauses_waiting on pauses (registered_at, workflow_id, def) where state = 'waiting';
create index pauses_due on pauses (coalesce(timeout_at, resume_at), workflow_id, def) where state = 'waiting';

-- What was sent to triggers, numbered within the workflow in the order of arrival.
create table trigger_payloads (
    workflow_id blob not null,
    number integer not null,
    trigger_key text not null,
    webhook_id text,
    payload text,
    received_at integer not null,
    source text,
    identity text not null,
    verdict text not null check (verdict = 'accepted' or verdict = 'rejected' or verdict = 'early' or verdict = 'late'
        or verdict = 'duplicate'),
    why text,
    run integer,
    primary key (workflow_id, number)
) without rowid;
-- The same message again, and what waits for its pause to begin.
create index trigger_payloads_message on trigger_payloads (workflow_id, trigger_key, webhook_id) where webhook_id is not null;
create index trigger_payloads_early on trigger_payloads (workflow_id, number) where verdict = 'early';

-- Why a workflow is paused: a person, a step that failed, or triggers that it waits for.
alter table workflows add column paused_by text;
