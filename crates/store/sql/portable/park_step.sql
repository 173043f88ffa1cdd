-- A parent that was claimed by log alone and whose job returned: it waits for its children. No index changes.
update steps
   set state = 'running', parked = 1, attempt = $1, host = $2, tick_id = $3, dispatched_at = $4, started_at = $5,
       response = $6, version = version + 1
 where id = $7 and version = $8
