-- What a node did in one minute, for charts. A node that is started twice in a minute has two rows of it.
create table minutes (
    at bigint not null,
    created bigint not null,
    started bigint not null,
    completed bigint not null,
    failed bigint not null,
    ended bigint not null,
    waits text not null,
    runs text not null
);
create index minutes_at on minutes (at);
