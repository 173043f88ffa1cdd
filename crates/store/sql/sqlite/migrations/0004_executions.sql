-- What is done once under a key, however often it is asked for, and every beginning and end of it.

create table executions (
    namespace text not null check (length(namespace) > 0),
    key text not null check (length(key) > 0),
    input_hash blob not null check (length(input_hash) = 32),
    state text not null check (state in ('in_progress', 'done', 'failed')),
    -- Who began last: the fence of every later write.
    owner blob not null,
    lease_ends_at integer,
    attempt integer not null check (attempt > 0),
    failed_attempts integer not null,
    max_attempts integer not null,
    answer text,
    error text,
    created_at integer not null,
    updated_at integer not null,
    keep_until integer not null,
    primary key (namespace, key),
    check ((state = 'in_progress') = (lease_ends_at is not null)),
    check ((state = 'done') = (answer is not null)),
    check ((state = 'failed') = (error is not null)),
    check (failed_attempts between 0 and max_attempts and failed_attempts <= attempt)
) without rowid;
create index executions_made on executions (created_at, namespace, key);
create index executions_kept on executions (keep_until, namespace, key);

create table execution_events (
    namespace text not null,
    key text not null,
    attempt integer not null,
    event text not null check (event in ('begun', 'taken_over', 'done', 'failed')),
    at integer not null,
    owner blob not null,
    error text,
    primary key (namespace, key, attempt, event),
    foreign key (namespace, key) references executions (namespace, key) on delete cascade
) without rowid;
