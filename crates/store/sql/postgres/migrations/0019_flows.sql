-- Flows that run elsewhere and are tracked here: one row a run, one for each step, one for each thing that was said.
create table flows (
    id bytea primary key check (length(id) = 16),
    type text collate "C" not null check (length(type) > 0),
    key text collate "C" not null,
    entity_type text collate "C" not null,
    entity_id text collate "C" not null,
    run bigint not null check (run > 0),
    user_id text,
    state text not null check (state = 'pending' or state = 'running' or state = 'failed' or state = 'completed'
        or state = 'cancelled' or state = 'superseded'),
    previous_state text,
    message text,
    error text,
    is_open bigint not null,
    retry_action text,
    cancel_action text,
    started_at bigint not null,
    started_by text not null,
    updated_at bigint not null,
    progressed_at bigint,
    timeout_at bigint not null,
    finished_at bigint,
    version bigint not null,
    check ((state = 'completed' or state = 'cancelled' or state = 'superseded') = (finished_at is not null)),
    check ((state = 'failed') = (error is not null))
);
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
    flow_id bytea not null,
    name text collate "C" not null check (length(name) > 0),
    position bigint not null,
    optional bigint not null,
    state text not null check (state = 'pending' or state = 'completed' or state = 'failed' or state = 'skipped'),
    at bigint,
    message text,
    primary key (flow_id, name),
    check ((state = 'pending') = (at is null)),
    foreign key (flow_id) references flows (id) on delete cascade
);

create table flow_events (
    flow_id bytea not null,
    number bigint not null,
    at bigint not null,
    event text not null,
    step text,
    state text not null,
    said_by text not null,
    message text,
    primary key (flow_id, number),
    foreign key (flow_id) references flows (id) on delete cascade
);

-- Workflows that failed and about which nobody has decided, oldest first.
create index workflows_unresolved on workflows (id) where state = 'failed' and resolved_at is null;
alter table flows set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
