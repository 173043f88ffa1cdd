-- Each row of the audit has a hash over itself and the hash of the row before it. Rows from before this migration have none.
alter table audit add column hash bytea;
-- Whoever appends takes the next number from the head, so that numbers have no gaps.
alter table audit alter column id drop identity;

-- The last row and its hash: one row, which is replaced and never written again.
create table audit_head (
    audit_id bigint primary key,
    hash bytea not null
);
insert into audit_head select coalesce(max(id), 0), '' from audit;
-- The last row before the chain, and how many there are.
insert into settings (name, value) select 'audit_begins', coalesce(max(id), 0) || ' ' || count(*) from audit;

create function audit_stays() returns trigger language plpgsql as $$
begin
    raise exception 'the audit is only added to';
end $$;
create trigger audit_stays before update or delete or truncate on audit for each statement execute function audit_stays();
