-- Browsers in which somebody entered a key. What a browser holds is not here: only its hash, which has 256 random bits behind it.
create table browser_sessions (
    hash blob primary key,
    key_id blob not null,
    signed_in_at integer not null,
    -- True to within a minute.
    used_at integer not null
) without rowid;
create index browser_sessions_of_key on browser_sessions (key_id, signed_in_at);
create index browser_sessions_newest on browser_sessions (signed_in_at);
