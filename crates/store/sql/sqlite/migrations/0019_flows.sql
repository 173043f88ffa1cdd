-- Flows that run elsewhere and are tracked here: one row a run, one for each step, one for each thing that was said.
create table flows (
    id blob primary key check (length(id) = 16),
    type text not null check (length(type) > 0),
    key text not null,
    entity_type text not null,
    entity_id text not null,
    run integer not null check (run > 0),
    user_id text,
    state text not null check (state = 'pending' or state = 'running' or state = 'failed' or state = 'completed'
        or state = 'cancelled' or state = 'superseded'),
    previous_state text,
    message text,
    error text,
    is_open integer not null,
    retry_action text,
    cancel_action text,
    started_at integer not null,
    started_by text not null,
    updated_at integer not null,
    progressed_at integer,
    timeout_at integer not null,
    finished_at integer,
    version integer not null,
    check ((state = 'completed' or state = 'cancelled' or state = 'superseded') = (finished_at is not null)),
    check ((state = 'failed') = (error is not null))
) without rowid;
create unique index flows_run on flows (type, key, entity_type, entity_id, run);
-- One run of a flow is not over; those that are not, as they stand half done, and as somebody should look at them.
create unique index flows_live on flows (type, key, entity_type, entity_id)
    where state = 'pending' or state = 'running' or state = 'failed';
create index flows_half_done on flows (id) where state = 'failed' or state = 'running' and progressed_at is not null;
create index flows_due on flows (timeout_at, id) where state = 'pending' or state = 'running' or state = 'failed';
create index flows_quiet on flows (updated_at, id) where state = 'pending' or state = 'running' or state = 'failed';
-- As people look for them, and as they are forgotten.
create index flows_type on flows (type, id);
create index flows_entity on flows (entity_type, entity_id, id);
create index flows_user on flows (user_id, id) where user_id is not null;
create index flows_finished on flows (finished_at, id) where finished_at is not null;

create table flow_steps (
    flow_id blob not null,
    name text not null check (length(name) > 0),
    position integer not null,
    optional integer not null,
    state text not null check (state = 'pending' or state = 'completed' or state = 'failed' or state = 'skipped'),
    at integer,
    message text,
    primary key (flow_id, name),
    check ((state = 'pending') = (at is null)),
    foreign key (flow_id) references flows (id) on delete cascade
) without rowid;

create table flow_events (
    flow_id blob not null,
    number integer not null,
    at integer not null,
    event text not null,
    step text,
    state text not null,
    said_by text not null,
    message text,
    primary key (flow_id, number),
    foreign key (flow_id) references flows (id) on delete cascade
) without rowid;

-- Workflows that failed and about which nobody has decided, oldest first. All three columns, or the index of open workflows seems as good.
create index workflows_unresolved on workflows (state, resolved_at, id) where state = 'failed' and resolved_at is null;
