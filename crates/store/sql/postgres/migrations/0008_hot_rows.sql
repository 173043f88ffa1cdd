-- A row that every commit writes is slow where its old versions cannot be cleaned up, because somebody looks at the database as it was:
-- each commit has to go past all of them. So no commit writes a row of long life.

-- The stamp by which a commit is found again: a row of its own, which the next commit of the same node takes away.
create table commit_stamps (stamp bytea primary key);
alter table commit_stamps set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);
alter table dispatch_groups drop column commit_id;
alter table nodes drop column commit_id;

-- What one node has counted in one second; it is added to `tallies` a little later.
create table tally_parts (
    part bigint not null,
    dispatch_group text not null,
    queue text not null,
    action text not null,
    host text not null,
    state text not null,
    leaf smallint not null,
    throttled smallint not null,
    n bigint not null,
    primary key (part, dispatch_group, queue, action, host, state, leaf, throttled)
);
alter table tally_parts set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);
