-- Many nodes on one database: who may decide for what, and what reaches the node that does.

-- For the owner of a dispatch group, or for one node. Its effects and its answer are one commit; who asked reads the answer
-- and removes the row.
create table signals (
    id bytea primary key,
    dispatch_group text,
    node_id bytea,
    -- Who waits for the answer; without it nobody does.
    from_node_id bytea,
    body text not null,
    at bigint not null,
    answer text,
    answered_at bigint
);
create index signals_for_group on signals (dispatch_group, id) where answered_at is null and dispatch_group is not null;
create index signals_for_node on signals (node_id, id) where answered_at is null and node_id is not null;
create index signals_answered on signals (from_node_id, id) where answered_at is not null;
alter table signals set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);

-- A claim is of steps of one dispatch group, so that it moves with it.
alter table claims add column dispatch_group text not null default '';
update claims c set dispatch_group = s.dispatch_group from steps s where s.id = decode(substr(c.pairs, 3, 32), 'hex');
alter table claims alter column dispatch_group drop default;

alter table nodes
    -- JSON list of the groups it may have; empty is all.
    add column limited_to text not null default '[]',
    add column standby smallint not null default 0,
    -- The last commit of a node that has no group; see `dispatch_groups.commit_id`.
    add column commit_id bytea;

alter table dispatch_groups
    add column owned_since bigint,
    -- What its owner cannot place on its own node: a JSON list of [queue, action].
    add column ready text not null default '[]';

-- Numbers of claims and ticks are taken in ranges, so that no two nodes give the same.
create sequence ranges;
-- How many roots have been given a group round-robin.
create sequence roots minvalue 0;
select setval('roots', coalesce((select value::bigint from settings where name = 'next_root'), 0), false);
delete from settings where name = 'next_root';
