-- A workflow that moved, if it is still as the turn saw it.
update workflows
   set state = $1, message = $2, output = $3, started_at = $4, completed_at = $5, wake_at = $6, paused_by = $7,
       version = version + 1
 where id = $8 and version = $9
