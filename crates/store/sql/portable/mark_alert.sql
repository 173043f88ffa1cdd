-- Something was decided about an open alert, if it still is as it was seen.
update alerts
   set severity = $1, message = $2, updated_at = $3, since = $4, seen = seen + 1, attempts = $5, action_taken = $6,
       last_remedy_at = $7, admin_notified_at = $8, user_notified_at = $9, escalated_at = $10, version = version + 1
 where id = $11 and version = $12 and closed_at is null
