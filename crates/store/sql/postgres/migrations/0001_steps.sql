-- The step dispatcher: one table for the unit of work, one for blocks, and what surrounds them. Times are microseconds, ids are
-- bytes and flags are 0 and 1, as on SQLite, so that one text reads both.

-- What a row may say is looked at by `check`; a constraint on each column costs a quarter of every write.
create table steps (
    id bytea primary key,
    dispatch_group text not null,
    queue text not null,
    action text not null,
    priority text not null,
    kind text not null,
    block_id bytea,
    block_index bigint not null,
    child_block_id bytea,
    state text not null,
    reason text,
    parked smallint not null default 0,
    throttled smallint not null default 0,
    wake_at bigint,
    attempt bigint not null default 0,
    failed_attempts bigint not null default 0,
    lost_attempts bigint not null default 0,
    polls bigint not null default 0,
    max_attempts bigint not null,
    retry_delay bigint,
    retry_factor double precision,
    retry_max_delay bigint,
    session_id bytea,
    host text,
    tick_id bigint,
    version bigint not null default 0,
    created_at bigint not null,
    dispatched_at bigint,
    started_at bigint,
    completed_at bigint,
    arguments text not null,
    response text,
    error_message text,
    error_stack_trace text,
    note text,
    step_key text,
    label text,
    relatable_type text,
    relatable_id text,
    superseded_by bytea,
    was_throttled smallint not null default 0,
    was_notified smallint,
    late_reports bigint not null default 0,
    check (state not in ('dispatched', 'running') or parked = 1 or session_id is not null),
    check (failed_attempts <= max_attempts)
);
-- Ready roots, in the order they are picked. Steps of a block are found through their block.
create index steps_ready on steps (dispatch_group, queue, priority, id)
    where state = 'pending' and block_id is null and wake_at is null;
create index steps_wake on steps (wake_at, id) where wake_at is not null;
create index steps_block on steps (block_id, block_index, id) where block_id is not null;
create index steps_held on steps (session_id) where session_id is not null;

create table blocks (
    id bytea primary key check (octet_length(id) = 16),
    owner_id bytea,
    home text not null,
    success text not null,
    depth bigint not null,
    steps text not null,
    resolvers text not null,
    live text not null,
    live_resolvers text not null,
    current_index bigint not null,
    resolver_index bigint not null,
    cut_at bigint,
    resolver_cut_at bigint,
    wants_resolvers smallint not null,
    blame text not null,
    sweep_kind text,
    sweep_event text,
    sweep_above bigint,
    sweep_index bigint,
    sweep_id bytea,
    touched smallint not null,
    is_open smallint not null,
    version bigint not null
);
create index blocks_open on blocks (home) where is_open = 1;

-- A claim of a session on the owner's own node: one row a turn and session. The step's own row follows when it ends, or
-- after a tenth of a second; that of a parent which has run and waits for its children (`parked`), after some seconds.
-- `pairs` is a JSON list of "id in hex:attempt".
create table claims (
    id bigint primary key,
    session_id bytea not null,
    tick_id bigint,
    claimed_at bigint not null,
    parked smallint not null,
    pairs text not null
);

create table sessions (
    id bytea primary key,
    node_id bytea not null,
    host text not null,
    queues text not null,
    actions text not null,
    capacity bigint not null,
    started_at bigint not null,
    lease_ends_at bigint not null,
    ended_at bigint
);

create table nodes (
    id bytea primary key,
    host text not null,
    pid bigint not null,
    url text,
    version text not null,
    machine text not null,
    started_at bigint not null,
    seen_at bigint not null,
    ended_at bigint
);

create table dispatch_groups (
    dispatch_group text primary key,
    ordinal bigint not null,
    owner_id bytea,
    epoch bigint not null default 0,
    -- The last commit of the owner: tells after a cut connection which way it went.
    commit_id bytea,
    lease_ends_at bigint,
    breaker text not null default '{"off":false}',
    last_selected_at bigint,
    current_tick_id bigint,
    last_tick_completed_at bigint
);

create table ticks (
    id bigint primary key,
    dispatch_group text not null,
    started_at bigint not null,
    completed_at bigint not null,
    duration_us bigint not null,
    turns bigint not null,
    progress bigint not null,
    steps_dispatched bigint not null,
    capped bigint not null,
    left_over bigint not null,
    phases text not null
);
create index ticks_by_group on ticks (dispatch_group, id);

-- How many steps there are of each sort, so that no figure on a page has to count history.
create table tallies (
    dispatch_group text not null,
    queue text not null,
    action text not null,
    host text not null,
    state text not null,
    leaf smallint not null,
    throttled smallint not null,
    n bigint not null,
    primary key (dispatch_group, queue, action, host, state, leaf, throttled)
);

create table step_attempts (
    step_id bytea not null,
    attempt bigint not null,
    at bigint not null,
    session_id bytea,
    host text,
    started_at bigint,
    outcome text not null,
    message text,
    primary key (step_id, attempt, at, outcome)
);

create table events (
    seq bigint generated always as identity,
    at bigint not null,
    entity text not null,
    entity_id bytea not null,
    from_state text,
    event text,
    to_state text not null,
    attempt bigint not null
);
create index events_by_entity on events (entity_id, seq);

create table alerts (
    id bigint generated always as identity primary key,
    entity text not null,
    entity_id text not null,
    reason text not null,
    severity text not null,
    message text not null,
    opened_at bigint not null,
    updated_at bigint not null,
    closed_at bigint
);
create unique index alerts_open on alerts (entity, entity_id, reason) where closed_at is null;

create table audit (
    id bigint generated always as identity primary key,
    at bigint not null,
    who text not null,
    verb text not null,
    target text not null,
    why text,
    before text,
    after text
);

create table settings (name text primary key, value text not null);

create table steps_archive (like steps);
create unique index steps_archive_id on steps_archive (id);
create index steps_archive_block on steps_archive (block_id, block_index, id) where block_id is not null;
create table blocks_archive (like blocks);
create unique index blocks_archive_id on blocks_archive (id);

-- Who holds which attempt by the log alone. Once a parent is parked, that is its last word.
create view claimed as
select distinct on (j.value) decode(substr(j.value, 1, 32), 'hex') as step_id, cast(substr(j.value, 34) as bigint) as attempt,
       case when c.parked = 0 then c.session_id end as session_id, c.claimed_at as claimed_at, c.tick_id as tick_id,
       s.host as host, c.parked as parked
  from claims c cross join lateral jsonb_array_elements_text(c.pairs::jsonb) as j(value)
  left join sessions s on s.id = c.session_id
 order by j.value, c.parked desc;

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
       s.relatable_type, s.relatable_id, s.superseded_by, s.was_throttled, s.was_notified, s.late_reports
  from steps s left join claimed c on c.step_id = s.id and s.state = 'pending' and c.attempt = s.attempt + 1;

-- Rows that change most are vacuumed early and by count, not by share of a large table.
alter table steps set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);
alter table blocks set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);
alter table claims set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);
alter table tallies set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);
alter table dispatch_groups set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);
