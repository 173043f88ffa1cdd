-- The common end, in the narrowest write: a step that was claimed by log alone, ran once and completed. Its row is as it
-- was inserted, so no index but the ready one has anything to forget.
update steps
   set state = 'completed', attempt = $1, host = $2, tick_id = $3, dispatched_at = $4, started_at = $5, completed_at = $6,
       response = $7, version = version + 1
 where id = $8 and version = $9
