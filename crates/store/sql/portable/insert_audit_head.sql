-- The audit ends here from now on.
insert into audit_head (audit_id, hash) values ($1, $2)
