-- A pause that waits differently or is over, if it is still as the turn saw it.
update pauses
   set token_hash = $1, timeout_at = $2, reminders = $3, state = $4, ended_at = $5, consumed = $6, version = version + 1
 where workflow_id = $7 and def = $8 and run = $9 and version = $10 and state = 'waiting'
