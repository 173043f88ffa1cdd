-- Who is told of what happens to workflows, and where. What deliveries are signed with is sealed.
create table subscriptions (
    id bytea primary key check (length(id) = 16),
    name text not null check (name <> ''),
    url text not null,
    types text not null,
    workflow text,
    labels text not null,
    active smallint not null,
    ordered smallint not null,
    secrets text not null,
    created_at bigint not null,
    created_by text not null,
    revision bigint not null default 0
);
