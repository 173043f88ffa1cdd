-- What a node did in one minute, for charts. A node that is started twice in a minute has two rows of it.
create table minutes (
    at integer not null,
    created integer not null,
    started integer not null,
    completed integer not null,
    failed integer not null,
    ended integer not null,
    waits text not null,
    runs text not null
);
create index minutes_at on minutes (at);
