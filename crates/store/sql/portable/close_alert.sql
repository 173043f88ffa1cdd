-- Close an alert, if it still is as it was seen.
update alerts
   set closed_at = $1, closed_by = $2, auto_resolved = $3, version = version + 1
 where id = $4 and version = $5 and closed_at is null
