-- Close the open alert of one reason.
update alerts
   set closed_at = $1, closed_by = $2, auto_resolved = $3, version = version + 1
 where entity = $4 and entity_id = $5 and reason = $6 and closed_at is null
