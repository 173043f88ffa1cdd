-- Move one flow, only if it is still as it was seen.
update flows
   set state = $1, previous_state = $2, message = $3, error = $4, updated_at = $5, progressed_at = $6, finished_at = $7,
       given_up_at = $8, version = version + 1
 where id = $9 and version = $10
