-- What many nodes on one database need; here there is one, and it has every group.

create table signals (
    id blob primary key,
    dispatch_group text,
    node_id blob,
    -- Who waits for the answer; without it nobody does.
    from_node_id blob,
    body text not null,
    at integer not null,
    answer text,
    answered_at integer
) without rowid;

-- A claim is of steps of one dispatch group.
alter table claims add column dispatch_group text not null default '';
update claims set dispatch_group =
    coalesce((select s.dispatch_group from steps s where s.id = unhex(substr(claims.pairs, 3, 32))), '');

alter table nodes add column limited_to text not null default '[]';
alter table nodes add column standby integer not null default 0;

alter table dispatch_groups add column owned_since integer;
alter table dispatch_groups add column ready text not null default '[]';
