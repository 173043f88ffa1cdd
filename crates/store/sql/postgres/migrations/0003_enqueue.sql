-- Steps made in a caller's own transaction, by plain functions: the same rows that a node makes of the same request.
--
-- Why    a caller only appends: the step, its first event, and a signal to the owner of its dispatch group. The tally is a row
--        that exists and that every node writes, so a transaction that stays open with it in hand would hold up the engine;
--        the signal says what to count (`uncounted`), and the owner counts it in the commit that takes the signal away.
--        What is refused, and in which words, is said in `crates/rules/src/creation.rs`; a test compares the two.

-- One step as it was asked for: its place in the request, and what goes before the name of a field in a complaint. Times and
-- spans are microseconds.
create type new_step as (
    n bigint,
    path text,
    action text,
    arguments text,
    queue text,
    priority text,
    dispatch_group text,
    step_key text,
    label text,
    relatable_type text,
    relatable_id text,
    dispatch_after numeric,
    delay numeric,
    max_attempts numeric,
    retry_delay numeric,
    retry_factor double precision,
    retry_max_delay numeric
);

-- The same with what a caller leaves to the engine.
create type placed_step as (
    step new_step,
    id bytea,
    dispatch_group text,
    queue text,
    priority text,
    note text,
    wake_at bigint
);

create function server_now() returns bigint language sql volatile as $$
    select (extract(epoch from clock_timestamp()) * 1000000)::bigint
$$;

-- Microseconds; what is further away than any limit is only that.
create function instant(at timestamptz) returns numeric language plpgsql stable as $$
begin
    return case when at is not null
        then (extract(epoch from least(greatest(at, '1970-01-01+00'), '9999-01-01+00')) * 1000000)::bigint end;
end $$;

-- From now on, so that a month is the month that follows.
create function span(wait interval) returns numeric language plpgsql stable as $$
begin
    return case when wait is not null then instant(statement_timestamp() + least(greatest(wait, '-10 years'), '1000 years'))
        - instant(statement_timestamp()) end;
end $$;

-- UUIDv7: milliseconds, their fraction, a number that rises within one call (up to 16,383), and 48 bits by chance.
create function new_id(at bigint, n bigint) returns bytea language plpgsql volatile as $$
begin
    return decode(lpad(to_hex(at / 1000), 12, '0') || '7' || lpad(to_hex(at % 1000 * 4096 / 1000), 3, '0')
        || to_hex(32768 + n) || right(gen_random_uuid()::text, 12), 'hex');
end $$;

-- Say everything that is wrong at once: as text for people, and as JSON for programs.
create function refuse(faults jsonb) returns void language plpgsql as $$
begin
    raise exception using
        errcode = 'invalid_parameter_value',
        message = (select string_agg(format('%s: %s; %s', f ->> 'field', f ->> 'problem', f ->> 'fix'), E'\n' order by n)
                     from jsonb_array_elements(faults) with ordinality as u(f, n)),
        detail = faults::text;
end $$;

-- What is wrong with the values of a step.
create function faults_of(s new_step, at bigint, groups text[])
returns table (field text, problem text, fix text) language plpgsql stable as $$
begin
    return query
    select s.path || f.field, f.problem, f.fix from (
        select 1, 0, 'action', 'is empty', 'name the action a worker runs, for example `echo`'
         where coalesce(s.action, '') !~ '\S'
        union all
        select 2, n, name, 'is ' || octet_length(value) || ' bytes long', 'use at most 255 bytes'
          from (values (1, 'step_key', s.step_key), (2, 'label', s.label), (3, 'queue', s.queue),
                       (4, 'relatable_type', s.relatable_type), (5, 'relatable_id', s.relatable_id), (6, 'action', s.action))
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
        select 6, 0, 'dispatch_group', '`' || s.dispatch_group || '` is not a dispatch group',
               'write one of ' || array_to_string(groups, ', ')
         where s.dispatch_group <> all (groups)
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
create function malformed(step json, path text)
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
          left join (values ('action', 'text'), ('step_key', 'text'), ('label', 'text'), ('queue', 'text'), ('priority', 'text'),
                ('dispatch_group', 'text'), ('relatable_type', 'text'), ('relatable_id', 'text'), ('kind', 'text'),
                ('success', 'text'), ('arguments', 'any'), ('index', 'whole'), ('max_attempts', 'whole'),
                ('delay_ms', 'whole'), ('retry_delay_ms', 'whole'), ('retry_max_delay_ms', 'whole'),
                ('dispatch_after', 'instant'), ('retry_factor', 'number'), ('block_id', 'tree'),
                ('parent_step_id', 'tree'), ('child_block_id', 'tree'), ('children', 'tree')) as fields (name, form)
            on fields.name = u.key) as f
     where f.fault is not null
$$;

-- A well-formed step of JSON; its arguments may come beside it.
create function read_step(step json, arguments json, n bigint, path text) returns new_step language sql stable as $$
    select row(n, path || '.', step ->> 'action',
        coalesce(arguments, case when json_typeof(step -> 'arguments') <> 'null' then step -> 'arguments' end)::text,
        step ->> 'queue', step ->> 'priority', step ->> 'dispatch_group', step ->> 'step_key', step ->> 'label',
        step ->> 'relatable_type', step ->> 'relatable_id', (step ->> 'dispatch_after')::numeric,
        (step ->> 'delay_ms')::numeric * 1000, (step ->> 'max_attempts')::numeric, (step ->> 'retry_delay_ms')::numeric * 1000,
        (step ->> 'retry_factor')::double precision, (step ->> 'retry_max_delay_ms')::numeric * 1000)::new_step
$$;

-- The queues a step may name: those of the configuration, and every living node's own name.
create function known_queues() returns text[] language plpgsql stable as $$
begin
    return array(select jsonb_array_elements_text(value::jsonb) from settings where name = 'queues'
                 union select lower(host) from nodes where ended_at is null
                 union values ('default'), ('priority'));
end $$;

-- What the engine decides for a new step: id, dispatch group, queue, and when it is due.
create function placed(steps new_step[], at bigint, groups text[]) returns placed_step[] language plpgsql as $$
declare
    known text[] := known_queues();
begin
    return array(
        select row(s, new_id(at, s.n), coalesce(s.dispatch_group, groups[1 + nextval('roots') % cardinality(groups)]),
            case when s.queue = any (known) then s.queue else usual.queue end, coalesce(s.priority, 'normal'),
            case when s.queue <> all (known)
                then format('queue `%s` is not known; `%s` is used instead', s.queue, usual.queue) end,
            case when due.wake_at > at then due.wake_at end)::placed_step
          from unnest(steps) as s
         cross join lateral (select case when s.priority = 'high' then 'priority' else 'default' end) as usual (queue)
         cross join lateral (select floor(coalesce(s.dispatch_after, at + s.delay))::bigint) as due (wake_at));
end $$;

-- For `insert_step.sql`: a pending step that nobody has touched. The usual waits between attempts are not written.
create function insert_placed(rows placed_step[], created_at bigint) returns void language plpgsql as $$
begin
    insert into steps (id, dispatch_group, queue, action, priority, kind, block_index, state, wake_at, max_attempts, retry_delay,
        retry_factor, retry_max_delay, created_at, arguments, note, step_key, label, relatable_type, relatable_id)
    select p.id, p.dispatch_group, p.queue, (p.step).action, p.priority, 'default', 1, 'pending', p.wake_at,
           coalesce((p.step).max_attempts, 3), case when own then delay end, case when own then factor end,
           case when own then max_delay end, created_at, coalesce((p.step).arguments, '{}'), p.note, (p.step).step_key,
           (p.step).label, (p.step).relatable_type, (p.step).relatable_id
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
create function arrived(rows placed_step[], in_group text) returns text language plpgsql stable as $$
begin
    return json_build_object('arrived', json_build_object(
        'roots', (select coalesce(json_agg(json_build_array(queue, priority, id)), '[]')
                    from (select p.queue, p.priority, min(encode(p.id, 'hex') collate "C")::uuid as id from unnest(rows) as p
                           where p.dispatch_group = in_group and p.wake_at is null group by p.queue, p.priority) as first),
        'wakes', (select coalesce(json_agg(json_build_array(wake_at, id)), '[]')
                    from (select p.wake_at, encode(p.id, 'hex')::uuid as id from unnest(rows) as p
                           where p.dispatch_group = in_group and p.wake_at is not null order by p.wake_at limit 1000) as soon),
        'due', (select p.wake_at from unnest(rows) as p
                 where p.dispatch_group = in_group and p.wake_at is not null order by p.wake_at offset 1000 limit 1),
        'uncounted', (select json_agg(json_build_array(queue, action, n))
                        from (select p.queue, (p.step).action, count(*) as n from unnest(rows) as p
                               where p.dispatch_group = in_group group by p.queue, (p.step).action) as sorts)))::text;
end $$;

-- Make all of them, or say everything that is wrong; the ids in the order of the steps.
create function make(steps new_step[]) returns setof uuid language plpgsql as $$
declare
    at bigint := server_now();
    groups text[] := array(select g.dispatch_group from dispatch_groups g order by g.ordinal);
    faults jsonb := (select jsonb_agg(jsonb_build_object('field', f.field, 'problem', f.problem, 'fix', f.fix))
                       from (select f.* from unnest(steps) as s cross join lateral faults_of(s, at, groups) as f limit 100) as f);
    made placed_step[];
    touched text[];
begin
    if cardinality(groups) = 0 then
        raise exception using errcode = 'object_not_in_prerequisite_state',
            message = 'there are no dispatch groups, for no node has run on this database', hint = 'start `stepfast serve` once';
    elsif faults is not null then
        perform refuse(faults);
    end if;
    made := placed(steps, at, groups);
    touched := array(select distinct p.dispatch_group from unnest(made) as p);
    perform insert_placed(made, at);
    insert into signals (id, dispatch_group, body, at)
    select new_id(at, 10000 + n), g, arrived(made, g), at from unnest(touched) with ordinality as u(g, n);
    perform pg_notify('stepfast', 'group ' || g) from unnest(touched) as g;
    return query select encode(p.id, 'hex')::uuid from unnest(made) as p order by p.id;
end $$;

-- The functions that callers use. They run with the rights of the owner of the schema: a role that may only call them can make
-- sound steps, but cannot write rows by itself that the engine would believe.

-- Many steps at once, as the list `steps` of `POST /v1/steps` has them. Arguments that come beside the steps, in their order,
-- are kept to the letter.
create function enqueue_verbatim(steps json, arguments json[]) returns setof uuid
language plpgsql security definer set search_path = stepfast, pg_temp as $$
declare
    faults jsonb;
begin
    if json_typeof(steps) is distinct from 'array' then
        perform refuse('[{"field": "steps", "problem": "is not a list", "fix": "write an array of steps"}]');
    elsif json_array_length(steps) > 10000 then
        perform refuse('[{"field": "steps", "problem": "too many steps", "fix": "send at most 10000 steps in one call"}]');
    end if;
    select jsonb_agg(jsonb_build_object('field', f.field, 'problem', f.problem, 'fix', f.fix)) into faults
      from (select f.* from json_array_elements(steps) with ordinality as u(step, n)
             cross join lateral malformed(step, format('steps[%s]', n - 1)) as f limit 100) as f;
    if faults is not null then
        perform refuse(faults);
    end if;
    return query select make(array(
        select read_step(step, beside, n, format('steps[%s]', n - 1))
          from rows from (json_array_elements(steps), unnest(arguments)) with ordinality as u(step, beside, n)
         where step is not null));
end $$;

create function enqueue_many(steps jsonb) returns setof uuid
language sql security definer set search_path = stepfast, pg_temp as $$
    select enqueue_verbatim(steps::text::json, '{}')
$$;

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
    retry_max_delay interval default null
) returns uuid language plpgsql security definer set search_path = stepfast, pg_temp as $$
begin
    return make(array[row(1, '', action, nullif(arguments, 'null')::text, queue, priority, dispatch_group, step_key, label, relatable_type,
        relatable_id, instant(dispatch_after), span(delay), max_attempts, span(retry_delay), retry_factor,
        span(retry_max_delay))::new_step]);
end $$;
