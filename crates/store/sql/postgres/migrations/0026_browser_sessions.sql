-- Browsers in which somebody entered a key. What a browser holds is not here: only its hash, which has 256 random bits behind it.
create table browser_sessions (
    hash bytea primary key,
    key_id bytea not null,
    signed_in_at bigint not null,
    -- True to within a minute.
    used_at bigint not null
);
create index browser_sessions_of_key on browser_sessions (key_id, signed_in_at);
create index browser_sessions_newest on browser_sessions (signed_in_at);
