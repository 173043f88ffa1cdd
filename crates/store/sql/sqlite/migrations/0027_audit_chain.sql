-- Each row of the audit has a hash over itself and the hash of the row before it. Rows from before this migration have none.
alter table audit add column hash blob;

-- The last row and its hash: one row, which is replaced and never written again.
create table audit_head (
    audit_id integer primary key,
    hash blob not null
);
insert into audit_head select coalesce(max(id), 0), x'' from audit;
-- The last row before the chain, and how many there are.
insert into settings (name, value) select 'audit_begins', coalesce(max(id), 0) || ' ' || count(*) from audit;

create trigger audit_update before update on audit begin select raise(abort, 'the audit is only added to'); end;
create trigger audit_delete before delete on audit begin select raise(abort, 'the audit is only added to'); end;
