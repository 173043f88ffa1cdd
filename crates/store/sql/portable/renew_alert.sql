-- What an open alert speaks of was seen again.
update alerts
   set message = $1, updated_at = $2, since = $3, seen = seen + 1
 where id = $4 and closed_at is null
