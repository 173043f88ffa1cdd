-- The audit goes on behind this row.
delete from audit_head
 where audit_id = $1
