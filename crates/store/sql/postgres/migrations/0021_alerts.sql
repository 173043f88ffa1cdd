-- One look for what is stuck at a time: who has it and until when, and where each of its searches goes on.
create table stuck_looks (
    id bigint primary key check (id = 1),
    node_id bytea,
    ends_at bigint,
    rounds text not null default '{}',
    version bigint not null default 0,
    check ((node_id is null) = (ends_at is null))
);
insert into stuck_looks (id) values (1);

-- A person has opened it again: only a person closes it.
alter table alerts add column reopened_at bigint;
-- The step by which a remedy is carried out.
alter table alert_events add column step_id bytea;

-- What somebody has, in an order that a search can go on in.
drop index steps_held;
create index steps_held on steps (session_id, id) where session_id is not null;
