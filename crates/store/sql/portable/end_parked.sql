-- A parent whose children made it complete: only its end is new.
update steps
   set state = 'completed', parked = 0, completed_at = $1, version = version + 1
 where id = $2 and version = $3
