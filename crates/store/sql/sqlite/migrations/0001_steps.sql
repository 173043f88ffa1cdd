-- The step dispatcher: one table for the unit of work, one for blocks, and what surrounds them.

create table steps (
    seq integer primary key,
    id blob not null unique check (length(id) = 16),
    dispatch_group text not null check (dispatch_group <> ''),
    queue text not null check (queue <> ''),
    action text not null check (action <> ''),
    priority text not null check (priority in ('high', 'normal')),
    kind text not null check (kind in ('default', 'resolve-exception')),
    block_id blob check (length(block_id) = 16),
    block_index integer not null check (block_index >= 1),
    child_block_id blob check (length(child_block_id) = 16),
    -- A chain, not a list: SQLite builds a table in memory for every statement that meets a list.
    state text not null check (
        state = 'completed' or state = 'pending' or state = 'running' or state = 'failed' or state = 'dispatched' or
        state = 'skipped' or state = 'cancelled' or state = 'stopped' or state = 'not_runnable' or state = 'polling'
        or state = 'timed_out' or state = 'superseded'),
    reason text,
    parked integer not null default 0,
    throttled integer not null default 0,
    wake_at integer,
    attempt integer not null default 0,
    failed_attempts integer not null default 0,
    lost_attempts integer not null default 0,
    polls integer not null default 0,
    max_attempts integer not null,
    retry_delay integer,
    retry_factor real,
    retry_max_delay integer,
    session_id blob,
    host text,
    tick_id integer,
    version integer not null default 0,
    created_at integer not null,
    dispatched_at integer,
    started_at integer,
    completed_at integer,
    arguments text not null,
    response text,
    error_message text,
    error_stack_trace text,
    note text,
    step_key text,
    label text,
    relatable_type text,
    relatable_id text,
    superseded_by blob,
    was_throttled integer not null default 0,
    was_notified integer,
    late_reports integer not null default 0,
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
    seq integer primary key,
    id blob not null unique check (length(id) = 16),
    owner_id blob,
    home text not null,
    success text not null,
    depth integer not null,
    steps text not null,
    resolvers text not null,
    live text not null,
    live_resolvers text not null,
    current_index integer not null,
    resolver_index integer not null,
    cut_at integer,
    resolver_cut_at integer,
    wants_resolvers integer not null,
    blame text not null,
    sweep_kind text,
    sweep_event text,
    sweep_above integer,
    sweep_index integer,
    sweep_id blob,
    touched integer not null,
    is_open integer not null,
    version integer not null
);
create index blocks_open on blocks (home) where is_open = 1;

-- A claim of a session on the owner's own node: one row a turn and session. The step's own row follows when it ends, or
-- after a tenth of a second; that of a parent which has run and waits for its children (`parked`), after some seconds.
-- `pairs` is a JSON list of "id in hex:attempt".
create table claims (
    id integer primary key,
    session_id blob not null,
    tick_id integer,
    claimed_at integer not null,
    parked integer not null,
    pairs text not null
);

create table sessions (
    id blob primary key,
    node_id blob not null,
    host text not null,
    queues text not null,
    actions text not null,
    capacity integer not null,
    started_at integer not null,
    lease_ends_at integer not null,
    ended_at integer
) without rowid;

create table nodes (
    id blob primary key,
    host text not null,
    pid integer not null,
    url text,
    version text not null,
    machine text not null,
    started_at integer not null,
    seen_at integer not null,
    ended_at integer
) without rowid;

create table dispatch_groups (
    dispatch_group text primary key,
    ordinal integer not null,
    owner_id blob,
    epoch integer not null default 0,
    lease_ends_at integer,
    breaker text not null default '{"off":false}',
    last_selected_at integer,
    current_tick_id integer,
    last_tick_completed_at integer
) without rowid;

create table ticks (
    id integer primary key,
    dispatch_group text not null,
    started_at integer not null,
    completed_at integer not null,
    duration_us integer not null,
    turns integer not null,
    progress integer not null,
    steps_dispatched integer not null,
    capped integer not null,
    left_over integer not null,
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
    leaf integer not null,
    throttled integer not null,
    n integer not null,
    primary key (dispatch_group, queue, action, host, state, leaf, throttled)
) without rowid;

create table step_attempts (
    step_id blob not null,
    attempt integer not null,
    at integer not null,
    session_id blob,
    host text,
    started_at integer,
    outcome text not null,
    message text,
    primary key (step_id, attempt, at, outcome)
) without rowid;

create table events (
    seq integer primary key,
    at integer not null,
    entity text not null,
    entity_id blob not null,
    from_state text,
    event text,
    to_state text not null,
    attempt integer not null
);
create index events_by_entity on events (entity_id, seq);

create table alerts (
    id integer primary key,
    entity text not null,
    entity_id text not null,
    reason text not null,
    severity text not null,
    message text not null,
    opened_at integer not null,
    updated_at integer not null,
    closed_at integer
);
create unique index alerts_open on alerts (entity, entity_id, reason) where closed_at is null;

create table audit (
    id integer primary key,
    at integer not null,
    who text not null,
    verb text not null,
    target text not null,
    why text,
    before text,
    after text
);

create table settings (name text primary key, value text not null) without rowid;

create table steps_archive as select * from steps where 0;
create unique index steps_archive_id on steps_archive (id);
create table blocks_archive as select * from blocks where 0;

-- Who holds which attempt by the log alone. Once a parent is parked, that is its last word.
create view claimed as
select unhex(substr(j.value, 1, 32)) as step_id, cast(substr(j.value, 34) as integer) as attempt,
       case when c.parked = 0 then c.session_id end as session_id, c.claimed_at as claimed_at, c.tick_id as tick_id,
       s.host as host, max(c.parked) as parked
  from claims c join json_each(c.pairs) j left join sessions s on s.id = c.session_id
 group by j.value;

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
       s.relatable_type, s.relatable_id, s.superseded_by, s.was_throttled, s.was_notified, s.late_reports
  from steps s left join claimed c on c.step_id = s.id and s.state = 'pending' and c.attempt = s.attempt + 1;
