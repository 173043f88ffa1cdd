-- Who may call the server from elsewhere, and what they may do. A key itself is not here: only the hash of its secret.

create table api_keys (
    id blob primary key,
    name text not null,
    -- SHA-256 of the secret, which has 256 random bits.
    hash blob not null,
    role text not null check (role in ('viewer', 'operator', 'worker', 'admin')),
    -- JSON list of the queues it may create into and claim from; empty is all.
    scope text not null default '[]',
    created_at integer not null,
    created_by text not null,
    expires_at integer,
    revoked_at integer,
    last_used_at integer
) without rowid;
create index api_keys_kept on api_keys (id) where revoked_at is null;
