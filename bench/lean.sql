-- The frozen lean reference: the least a durable queue on SQLite needs. It is never changed to suit us.
create table lean_steps (
    id integer primary key,
    queue integer not null,
    state integer not null,
    priority integer not null,
    run_at integer not null,
    attempt integer not null,
    payload text not null
);
create index lean_ready on lean_steps (queue, priority, id) where state = 0;
