-- The audit by who, by what was done and to what, each from the newest on. What is linked stays as it is: these columns are made of others.
-- Who, without from where. An entry of an index has an end, and what somebody calls themselves need not have one.
alter table audit add column actor text generated always as (left(split_part(who || ' from ', ' from ', 1), 200)) stored;
-- What it was done to, without the trigger of a workflow and the name behind an id.
alter table audit add column thing text generated always as
    (left(split_part(replace(target, ' `', ' (') || ' (', ' (', 1), 200)) stored;

create index audit_at on audit (at, id);
create index audit_actor on audit (actor, at, id);
create index audit_verb on audit (verb, at, id);
create index audit_thing on audit (thing, at, id);
