-- What is done once under a key, however often it is asked for, and every beginning and end of it; and the same as plain
-- functions, so that an effect in the same database and the record of it are one transaction of the caller.

create table executions (
    namespace text collate "C" not null check (length(namespace) > 0),
    key text collate "C" not null check (length(key) > 0),
    input_hash bytea not null check (length(input_hash) = 32),
    state text not null check (state in ('in_progress', 'done', 'failed')),
    -- Who began last: the fence of every later write.
    owner bytea not null,
    lease_ends_at bigint,
    attempt bigint not null check (attempt > 0),
    failed_attempts bigint not null,
    max_attempts bigint not null,
    answer text,
    error text,
    created_at bigint not null,
    updated_at bigint not null,
    keep_until bigint not null,
    primary key (namespace, key),
    check ((state = 'in_progress') = (lease_ends_at is not null)),
    check ((state = 'done') = (answer is not null)),
    check ((state = 'failed') = (error is not null)),
    check (failed_attempts between 0 and max_attempts and failed_attempts <= attempt)
);
create index executions_made on executions (created_at, namespace, key);
create index executions_kept on executions (keep_until, namespace, key);
alter table executions set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);

create table execution_events (
    namespace text collate "C" not null,
    key text collate "C" not null,
    attempt bigint not null,
    event text not null check (event in ('begun', 'taken_over', 'done', 'failed')),
    at bigint not null,
    owner bytea not null,
    error text,
    primary key (namespace, key, attempt, event),
    foreign key (namespace, key) references executions (namespace, key) on delete cascade
);

-- What a caller is told to do: `begun`, `replay`, `in_progress`, `conflict` or `given_up`.
create type execution_verdict as (
    verdict text,
    owner uuid,
    attempt bigint,
    lease_ends_at timestamptz,
    answer json,
    error text,
    failed_attempts bigint
);

create function at_time(at bigint) returns timestamptz language plpgsql immutable as $$
begin
    return to_timestamp(at / 1000000.0);
end $$;

-- What is wrong with what is asked, in the words of `crates/model/src/execution.rs`.
create function refuse_execution(namespace text, key text, lease interval, max_attempts integer, keep interval)
returns void language plpgsql as $$
declare
    faults jsonb := (select jsonb_agg(jsonb_build_object('field', f.field, 'problem', f.problem, 'fix', f.fix)) from (
        select name, 'is empty', format('write for example `%s`', example)
          from (values ('namespace', namespace, 'payments.credit'), ('key', key, 'payment-123')) as names (name, value, example)
         where coalesce(value, '') !~ '\S'
        union all
        select name, 'is ' || octet_length(value) || ' bytes long', 'use at most 255 bytes'
          from (values ('namespace', namespace), ('key', key)) as names (name, value) where octet_length(value) > 255
        union all
        select 'max_attempts', 'is out of range', 'write a number from 1 to 1000'
         where coalesce(max_attempts, 0) not between 1 and 1000
        union all
        select 'lease', 'is out of range', 'use 1 s to 86400 s, and renew it'
         where coalesce(lease, '0') not between interval '1 second' and interval '86400 seconds'
        union all
        select 'keep', 'is out of range', 'use one second to 3660 days'
         where coalesce(keep, '0') not between interval '1 second' and interval '3660 days') as f (field, problem, fix));
begin
    if faults is not null then
        perform refuse(faults);
    end if;
end $$;

-- The rule of `crates/rules/src/idempotency.rs` over the record of a key; a test compares the two. None says that the record
-- changed meanwhile.
create function begin_over(e executions, hash bytea, who bytea, span bigint, attempts integer, kept bigint, now bigint)
returns execution_verdict language plpgsql as $$
declare
    is_live boolean := e.state = 'in_progress' and e.lease_ends_at > now;
begin
    if e.keep_until <= now and not is_live then
        delete from executions x where x.namespace = e.namespace and x.key = e.key and x.owner = e.owner
            and x.attempt = e.attempt and x.state = e.state and x.updated_at = e.updated_at;
        return null;
    elsif e.input_hash <> hash then
        return row('conflict', null, e.attempt, null, null, null, e.failed_attempts)::execution_verdict;
    elsif e.state = 'done' then
        return row('replay', null, e.attempt, null, e.answer::json, null, e.failed_attempts)::execution_verdict;
    elsif is_live and e.owner = who then
        return row('begun', encode(who, 'hex')::uuid, e.attempt, at_time(e.lease_ends_at), null, null,
            e.failed_attempts)::execution_verdict;
    elsif is_live then
        return row('in_progress', null, e.attempt, at_time(e.lease_ends_at), null, null, e.failed_attempts)::execution_verdict;
    elsif e.state = 'failed' and e.failed_attempts >= attempts then
        return row('given_up', null, e.attempt, null, null, e.error, e.failed_attempts)::execution_verdict;
    end if;
    update executions x
       set state = 'in_progress', owner = who, lease_ends_at = now + span, attempt = e.attempt + 1,
           max_attempts = greatest(attempts, e.failed_attempts), answer = null, error = null, updated_at = now,
           keep_until = now + kept
     where x.namespace = e.namespace and x.key = e.key and x.owner = e.owner and x.attempt = e.attempt and x.state = e.state
       and x.updated_at = e.updated_at;
    if not found then
        return null;
    end if;
    insert into execution_events (namespace, key, attempt, event, at, owner)
    values (e.namespace, e.key, e.attempt + 1, case when e.state = 'failed' then 'begun' else 'taken_over' end, now, who);
    return row('begun', encode(who, 'hex')::uuid, e.attempt + 1, at_time(now + span), null, null,
        e.failed_attempts)::execution_verdict;
end $$;

-- Begin something that is to be done once, in the caller's own transaction: insert first, and look only when there is a record.
-- Another transaction that has begun the same and is still open is waited for.
create function begin_execution_hashed(
    namespace text,
    key text,
    input_hash bytea,
    lease interval,
    max_attempts integer,
    keep interval,
    owner uuid
) returns execution_verdict language plpgsql security definer set search_path = stepfast, pg_temp as $$
declare
    now bigint := server_now();
    who bytea := uuid_send(coalesce(owner, encode(new_id(now, 0), 'hex')::uuid));
    span bigint := (extract(epoch from lease) * 1000000)::bigint;
    kept bigint := (extract(epoch from keep) * 1000000)::bigint;
    e executions;
    told execution_verdict;
begin
    perform refuse_execution(namespace, key, lease, max_attempts, keep);
    loop
        insert into executions as x (namespace, key, input_hash, state, owner, lease_ends_at, attempt, failed_attempts,
            max_attempts, created_at, updated_at, keep_until)
        values ($1, $2, $3, 'in_progress', who, now + span, 1, 0, $5, now, now, now + kept)
        on conflict do nothing;
        if found then
            insert into execution_events (namespace, key, attempt, event, at, owner) values ($1, $2, 1, 'begun', now, who);
            return row('begun', encode(who, 'hex')::uuid, 1, at_time(now + span), null, null, 0)::execution_verdict;
        end if;
        select * into e from executions x where x.namespace = $1 and x.key = $2;
        if found then
            told := begin_over(e, $3, who, span, $5, kept, now);
            if told.verdict is not null then
                return told;
            end if;
        end if;
    end loop;
end $$;

create function begin_execution(
    namespace text,
    key text,
    input text default '',
    lease interval default '60 seconds',
    max_attempts integer default 3,
    keep interval default '90 days',
    owner uuid default null
) returns execution_verdict language sql security definer set search_path = stepfast, pg_temp as $$
    select begin_execution_hashed($1, $2, sha256(convert_to(coalesce($3, ''), 'UTF8')), $4, $5, $6, $7)
$$;

-- End what this owner began. What is refused ends the transaction: SF404 there is none, SF409 the lease was lost, SF410 it has
-- ended otherwise.
create function end_execution(namespace text, key text, owner uuid, state text, answer text, error text)
returns void language plpgsql as $$
declare
    now bigint := server_now();
    e executions;
begin
    select * into e from executions x where x.namespace = $1 and x.key = $2 for update;
    if not found then
        raise exception using errcode = 'SF404',
            message = format('execution %s:%s: there is no such execution', $1, $2);
    elsif e.owner is distinct from uuid_send($3) then
        raise exception using errcode = 'SF409',
            message = format('execution %s:%s: the lease was lost: attempt %s is another''s', $1, $2, e.attempt);
    elsif e.state <> 'in_progress' then
        if e.state = $4 and e.answer is not distinct from $5 and e.error is not distinct from $6 then
            return;
        end if;
        raise exception using errcode = 'SF410',
            message = format('execution %s:%s: it has ended already, otherwise', $1, $2);
    elsif octet_length(coalesce($5, $6)) > 1048576 then
        perform refuse(jsonb_build_array(jsonb_build_object('field', case when $4 = 'done' then 'answer' else 'error' end,
            'problem', 'is ' || octet_length(coalesce($5, $6)) || ' bytes long',
            'fix', 'use at most 1048576 bytes; keep large data elsewhere and record its address')));
    end if;
    update executions x
       set state = $4, lease_ends_at = null, answer = $5, error = $6, updated_at = now,
           failed_attempts = e.failed_attempts + case when $4 = 'failed' then 1 else 0 end,
           max_attempts = greatest(e.max_attempts, e.failed_attempts + case when $4 = 'failed' then 1 else 0 end),
           keep_until = now + greatest(e.keep_until - e.updated_at, 0)
     where x.namespace = $1 and x.key = $2;
    insert into execution_events (namespace, key, attempt, event, at, owner, error)
    values ($1, $2, e.attempt, $4, now, e.owner, $6);
end $$;

create function complete_execution(namespace text, key text, owner uuid, answer json default 'null')
returns void language sql security definer set search_path = stepfast, pg_temp as $$
    select end_execution($1, $2, $3, 'done', coalesce($4, 'null')::text, null)
$$;

create function fail_execution(namespace text, key text, owner uuid, error text)
returns void language sql security definer set search_path = stepfast, pg_temp as $$
    select end_execution($1, $2, $3, 'failed', null, coalesce($4, ''))
$$;
