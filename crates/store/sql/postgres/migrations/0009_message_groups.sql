-- Message groups: steps that are done one after another. `joined` is 1 for a step in the line and 2 for one that
-- was claimed before, `place` says whose place it has there;
-- a step without a mode is done in no order.
alter table steps add column message_group text collate "C";
alter table steps add column mode text;
alter table steps add column sequence bigint;
alter table steps add column place bytea;
alter table steps add column joined smallint not null default 0;
alter table steps add column expires_at bigint;
alter table steps add column block_cleared_at bigint;
alter table steps add column block_cleared_by text;
alter table steps add column block_cleared_why text;
alter table steps_archive add column message_group text collate "C";
alter table steps_archive add column mode text;
alter table steps_archive add column sequence bigint;
alter table steps_archive add column place bytea;
alter table steps_archive add column joined smallint not null default 0;
alter table steps_archive add column expires_at bigint;
alter table steps_archive add column block_cleared_at bigint;
alter table steps_archive add column block_cleared_by text;
alter table steps_archive add column block_cleared_why text;
-- The line of each message group: who was claimed before, then by rank.
create index steps_line on steps (dispatch_group, message_group, joined desc, sequence, place)
    where state = 'pending' and joined > 0;
-- One at a time: the owner of the group sees to it, and this refuses whoever does not.
create unique index steps_in_flight on steps (message_group)
    where mode is not null and parked = 0 and (state = 'dispatched' or state = 'running');
create index steps_expire on steps (expires_at, id) where expires_at is not null and (state = 'pending' or state = 'dispatched');
drop index steps_ready;
create index steps_ready on steps (dispatch_group, queue, priority, id)
    where state = 'pending' and block_id is null and wake_at is null and pool is null and mode is null;
drop index steps_pooled;
create index steps_pooled on steps (pool, dispatch_group, queue, priority, id)
    where state = 'pending' and block_id is null and wake_at is null and pool is not null and mode is null;

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
       s.block_cleared_why
  from steps s left join claimed c on c.step_id = s.id and s.state = 'pending' and c.attempt = s.attempt + 1;
-- What holds a message group back: a step of it that failed, or a person who paused it (without a step).
create table message_groups (
    message_group text collate "C" not null,
    blocked_by bytea not null,
    dispatch_group text not null,
    at bigint not null,
    by_whom text,
    why text,
    primary key (message_group, blocked_by)
);

-- Steps made by plain functions may be done in order too.
alter type new_step add attribute message_group text, add attribute mode text, add attribute sequence bigint,
    add attribute expires_at numeric;

-- Where the line of a message group is decided: the rule of `crates/rules/src/fifo.rs`.
create function home_of(message_group text, groups text[]) returns text language sql immutable as $$
    select groups[1 + ('x' || encode(substr(sha256(convert_to('DISPATCH_JOB:' || message_group, 'UTF8')), 1, 4), 'hex'))::bit(32)::bigint
        % cardinality(groups)]
$$;

-- The group of a step that is done in order; null for one that is not.
create function line_of(s new_step) returns text language sql immutable as $$
    select case when s.mode in ('next_on_error', 'block_on_error') then coalesce(s.message_group, 'default') end
$$;

-- What is wrong with the values of a step.
create or replace function faults_of(s new_step, at bigint, groups text[])
returns table (field text, problem text, fix text) language plpgsql stable as $$
begin
    return query
    select s.path || f.field, f.problem, f.fix from (
        select 1, 0, 'action', 'is empty', 'name the action a worker runs, for example `echo`'
         where coalesce(s.action, '') !~ '\S'
        union all
        select 2, n, name, 'is ' || octet_length(value) || ' bytes long', 'use at most 255 bytes'
          from (values (1, 'step_key', s.step_key), (2, 'label', s.label), (3, 'queue', s.queue), (4, 'pool', s.pool),
                       (5, 'message_group', s.message_group), (6, 'relatable_type', s.relatable_type),
                       (7, 'relatable_id', s.relatable_id), (8, 'action', s.action))
               as names (n, name, value)
         where octet_length(value) > 255
        union all
        select 3, 0, 'arguments', 'are ' || octet_length(s.arguments) || ' bytes long',
               'send at most 1048576 bytes; keep large data elsewhere and pass its address'
         where octet_length(s.arguments) > 1048576
        union all
        select 4, 0, 'max_attempts', 'is out of range', 'write a number from 1 to 1000 (executions including the first)'
         where s.max_attempts not between 1 and 1000
        union all
        select 5, 0, 'priority', '`' || s.priority || '` is not known', 'write high or normal'
         where s.priority not in ('high', 'normal')
        union all
        select 5, 1, 'mode', '`' || s.mode || '` is not known', 'write immediate, next_on_error or block_on_error'
         where s.mode not in ('immediate', 'next_on_error', 'block_on_error')
        union all
        select 5, 2, 'message_group', 'is empty',
               'name what must stay in order, for example `customer-12345`, or leave it out'
         where s.message_group = ''
        union all
        select 6, 0, 'dispatch_group', format('`%s` is not where the message group `%s` lives', s.dispatch_group, line_of(s)),
               format('write `%s` or leave it out', home_of(line_of(s), groups))
         where s.dispatch_group <> home_of(nullif(line_of(s), ''), groups)
        union all
        select 6, 0, 'dispatch_group', '`' || s.dispatch_group || '` is not a dispatch group',
               'write one of ' || array_to_string(groups, ', ')
         where s.dispatch_group <> all (groups) and nullif(line_of(s), '') is null
        union all
        select 6, 1, 'pool', '`' || s.pool || '` is not a pool',
               'make it first, for example with `stepfast pools set ' || s.pool || ' --concurrency 10`'
         where octet_length(s.pool) <= 255 and not exists (select 1 from pools where pools.name = s.pool)
        union all
        select 6, 2, 'expires_at', 'is over before the step could start',
               'write an instant that lies ahead, and behind the one at which it is due'
         where s.expires_at <= greatest(at, coalesce(s.dispatch_after, at))
        union all
        select 7, 0, name, 'says twice when the step is due', format('write `dispatch_after` or `%s`, not both', name)
          from (values (case when s.path = '' then 'delay' else 'delay_ms' end)) as spans (name)
         where s.dispatch_after is not null and s.delay is not null
        union all
        select 8, 0, case when s.path = '' and s.dispatch_after is null then 'delay' else 'dispatch_after' end,
               'is too far away', 'use at most 366 days from now'
         where coalesce(s.dispatch_after, at + s.delay) > at + 366 * 86400000000
        union all
        select 9, 0, 'retry_factor', 'is out of range', 'use a number from 1 to 100'
         where s.retry_factor not between 1 and 100
        union all
        select 10, n, name, 'is negative', 'use zero or more'
          from (values (1, 'delay', s.delay), (2, 'retry_delay', s.retry_delay), (3, 'retry_max_delay', s.retry_max_delay))
               as waits (n, name, value)
         where value < 0
    ) as f (kind, n, field, problem, fix)
    order by f.kind, f.n;
end $$;

-- What is wrong with a step as JSON before its values are looked at: forms, unknown fields, and what only a node can make.
create or replace function malformed(step json, path text)
returns table (field text, problem text, fix text) language sql stable as $$
    select path, 'is not a step', 'write an object with at least `action`' where json_typeof(step) <> 'object'
    union all
    select path || '.' || f.key, f.fault[1], f.fault[2] from (
        select u.key, case
            when fields.form is null then array['is not a field of a step', 'leave it out']
            when u.is_null or fields.form = 'any' then null
            when u.key = 'children' and u.word ~ '^\[\s*\]$' then null
            when fields.form = 'tree' then array[
                'belongs to a tree, and only a step that stands alone is made here', 'create trees with `POST /v1/steps`']
            when fields.form = 'text' and json_typeof(u.value) <> 'string' then array['is not a text', 'write a string']
            when fields.form = 'number' and json_typeof(u.value) <> 'number' then array['is not a number', 'write a number']
            when fields.form = 'whole' and (json_typeof(u.value) <> 'number' or u.word !~ '^\d+$')
                then array['is not a whole number of zero or more', 'write one']
            when fields.form = 'instant' and (json_typeof(u.value) <> 'number' or u.word !~ '^-?\d+$')
                then array['is not an instant', 'write microseconds since the epoch']
            when fields.form = 'signed' and (json_typeof(u.value) <> 'number' or u.word !~ '^-?\d{1,10}$'
                or u.word::numeric not between -2147483648 and 2147483647)
                then array['is not a whole number from -2147483648 to 2147483647', 'write one']
            when u.key = 'index' and u.word::numeric > 1000000 then array['is out of range', 'use at most 1000000']
            when u.key = 'kind' and u.word = 'resolve-exception' then array[
                'a resolver stands in a block, and only a step that stands alone is made here', 'create it with `POST /v1/steps`']
            when u.key = 'kind' and u.word <> 'default'
                then array['`' || u.word || '` is not known', 'write default or resolve-exception']
            when u.key = 'success' and u.word !~ '^(all|majority|best_effort|at_least:\d+)$'
                then array['`' || u.word || '` is not known', 'write all, majority, best_effort, at_least:N']
            end as fault
          from (select e.key, e.value, json_typeof(e.value) = 'null' as is_null,
                       case when json_typeof(e.value) in ('string', 'number', 'array') and e.key <> 'arguments'
                           then e.value #>> '{}' end as word
                  from json_each(case when json_typeof(step) = 'object' then step else '{}' end) as e) as u
          left join (values ('action', 'text'), ('step_key', 'text'), ('label', 'text'), ('queue', 'text'), ('priority', 'text'), ('pool', 'text'),
                ('message_group', 'text'), ('mode', 'text'), ('sequence', 'signed'), ('expires_at', 'instant'),
                ('dispatch_group', 'text'), ('relatable_type', 'text'), ('relatable_id', 'text'), ('kind', 'text'),
                ('success', 'text'), ('arguments', 'any'), ('index', 'whole'), ('max_attempts', 'whole'),
                ('delay_ms', 'whole'), ('retry_delay_ms', 'whole'), ('retry_max_delay_ms', 'whole'),
                ('dispatch_after', 'instant'), ('retry_factor', 'number'), ('block_id', 'tree'),
                ('parent_step_id', 'tree'), ('child_block_id', 'tree'), ('children', 'tree')) as fields (name, form)
            on fields.name = u.key) as f
     where f.fault is not null
$$;

-- A well-formed step of JSON; its arguments may come beside it.
create or replace function read_step(step json, arguments json, n bigint, path text) returns new_step language sql stable as $$
    select row(n, path || '.', step ->> 'action',
        coalesce(arguments, case when json_typeof(step -> 'arguments') <> 'null' then step -> 'arguments' end)::text,
        step ->> 'queue', step ->> 'priority', step ->> 'dispatch_group', step ->> 'step_key', step ->> 'label',
        step ->> 'relatable_type', step ->> 'relatable_id', (step ->> 'dispatch_after')::numeric,
        (step ->> 'delay_ms')::numeric * 1000, (step ->> 'max_attempts')::numeric, (step ->> 'retry_delay_ms')::numeric * 1000,
        (step ->> 'retry_factor')::double precision, (step ->> 'retry_max_delay_ms')::numeric * 1000,
        step ->> 'pool', step ->> 'message_group', step ->> 'mode', (step ->> 'sequence')::bigint,
        (step ->> 'expires_at')::numeric)::new_step
$$;

-- What the engine decides for a new step: id, dispatch group, queue, and when it is due.
create or replace function placed(steps new_step[], at bigint, groups text[]) returns placed_step[] language plpgsql as $$
declare
    known text[] := known_queues();
begin
    return array(
        select row(s, new_id(at, s.n), coalesce(home_of(line_of(s), groups), s.dispatch_group,
                groups[1 + nextval('roots') % cardinality(groups)]),
            case when s.queue = any (known) then s.queue else usual.queue end, coalesce(s.priority, 'normal'),
            case when s.queue <> all (known)
                then format('queue `%s` is not known; `%s` is used instead', s.queue, usual.queue) end,
            case when due.wake_at > at then due.wake_at end)::placed_step
          from unnest(steps) as s
         cross join lateral (select case when s.priority = 'high' then 'priority' else 'default' end) as usual (queue)
         cross join lateral (select floor(coalesce(s.dispatch_after, at + s.delay))::bigint) as due (wake_at));
end $$;

-- For `insert_step.sql`: a pending step that nobody has touched. The usual waits between attempts are not written.
create or replace function insert_placed(rows placed_step[], created_at bigint) returns void language plpgsql as $$
begin
    insert into steps (id, dispatch_group, queue, action, priority, kind, block_index, state, wake_at, max_attempts, retry_delay,
        retry_factor, retry_max_delay, created_at, arguments, note, step_key, label, relatable_type, relatable_id, pool,
        message_group, mode, sequence, place, joined, expires_at)
    select p.id, p.dispatch_group, p.queue, (p.step).action, p.priority, 'default', 1, 'pending', p.wake_at,
           coalesce((p.step).max_attempts, 3), case when own then delay end, case when own then factor end,
           case when own then max_delay end, created_at, coalesce((p.step).arguments, '{}'), p.note, (p.step).step_key,
           (p.step).label, (p.step).relatable_type, (p.step).relatable_id, (p.step).pool,
           coalesce(line_of(p.step), (p.step).message_group), case when line_of(p.step) is not null then (p.step).mode end,
           case when coalesce(line_of(p.step), (p.step).message_group) is not null then coalesce((p.step).sequence, 99) end,
           case when line_of(p.step) is not null then p.id end,
           case when line_of(p.step) is not null and p.wake_at is null then 1 else 0 end, floor((p.step).expires_at)::bigint
      from unnest(rows) as p
     cross join lateral (select least(coalesce(floor((p.step).retry_delay), 10000000), 366 * 86400000000),
            coalesce((p.step).retry_factor, 1), least(coalesce(floor((p.step).retry_max_delay), 3600000000), 366 * 86400000000))
           as backoff (delay, factor, max_delay)
     cross join lateral (select (delay, factor, max_delay) <> (10000000, 1, 3600000000)) as differs (own);
    insert into events (at, entity, entity_id, to_state, attempt)
    select created_at, 'step', p.id, 'pending', 0 from unnest(rows) as p
     where exists (select 1 from settings where name = 'history' and value = 'full') order by p.id;
end $$;

-- What the owner of a dispatch group is told, as a node would: `Signal::Arrived` of `crates/engine/src/signal.rs`.
create or replace function arrived(rows placed_step[], in_group text) returns text language plpgsql stable as $$
begin
    return json_build_object('arrived', json_build_object(
        'roots', (select coalesce(json_agg(json_build_array(queue, priority, id)), '[]')
                    from (select p.queue, p.priority, min(encode(p.id, 'hex') collate "C")::uuid as id from unnest(rows) as p
                           where p.dispatch_group = in_group and p.wake_at is null and (p.step).pool is null
                             and line_of(p.step) is null
                           group by p.queue, p.priority) as first),
        'pooled', (select coalesce(json_agg(json_build_array(pool, queue, priority, id)), '[]')
                     from (select (p.step).pool as pool, p.queue, p.priority, min(encode(p.id, 'hex') collate "C")::uuid as id
                             from unnest(rows) as p
                            where p.dispatch_group = in_group and p.wake_at is null and (p.step).pool is not null
                              and line_of(p.step) is null
                            group by (p.step).pool, p.queue, p.priority) as first),
        'lines', (select coalesce(json_agg(json_build_array(line, sequence, id)), '[]')
                    from (select distinct on (line_of(p.step) collate "C") line_of(p.step) as line,
                                 coalesce((p.step).sequence, 99) as sequence, encode(p.id, 'hex')::uuid as id
                            from unnest(rows) as p
                           where p.dispatch_group = in_group and p.wake_at is null and line_of(p.step) is not null
                           order by line_of(p.step) collate "C", 2, 3) as first),
        'wakes', (select coalesce(json_agg(json_build_array(wake_at, id)), '[]')
                    from (select p.wake_at, encode(p.id, 'hex')::uuid as id from unnest(rows) as p
                           where p.dispatch_group = in_group and p.wake_at is not null order by p.wake_at limit 1000) as soon),
        'due', (select p.wake_at from unnest(rows) as p
                 where p.dispatch_group = in_group and p.wake_at is not null order by p.wake_at offset 1000 limit 1),
        'uncounted', (select json_agg(json_build_array(queue, action, n))
                        from (select p.queue, (p.step).action, count(*) as n from unnest(rows) as p
                               where p.dispatch_group = in_group group by p.queue, (p.step).action) as sorts)))::text;
end $$;

drop function enqueue(text, jsonb, text, text, text, text, text, interval, timestamptz, integer, text, text, interval, double precision, interval,
    text);
-- One step that stands alone; only the action is needed.
create function enqueue(
    action text,
    arguments jsonb default '{}',
    queue text default null,
    priority text default null,
    dispatch_group text default null,
    step_key text default null,
    label text default null,
    delay interval default null,
    dispatch_after timestamptz default null,
    max_attempts integer default null,
    relatable_type text default null,
    relatable_id text default null,
    retry_delay interval default null,
    retry_factor double precision default null,
    retry_max_delay interval default null,
    pool text default null,
    message_group text default null,
    mode text default null,
    sequence integer default null,
    expires_at timestamptz default null
) returns uuid language plpgsql security definer set search_path = stepfast, pg_temp as $$
begin
    return make(array[row(1, '', action, nullif(arguments, 'null')::text, queue, priority, dispatch_group, step_key, label, relatable_type,
        relatable_id, instant(dispatch_after), span(delay), max_attempts, span(retry_delay), retry_factor,
        span(retry_max_delay), pool, message_group, mode, sequence, instant(expires_at))::new_step]);
end $$;
