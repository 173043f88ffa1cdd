-- Close the open alert of one reason.
update alerts
   set closed_at = $1
 where entity = $2 and entity_id = $3 and reason = $4 and closed_at is null
