-- What came of a workflow's failures, in the same commit as the row itself.
update workflows
   set auto_retries = $1, auto_retry_at = $2, restarted_at = $3, resolved_at = $4, cancel_requested_at = $5,
       compensation_started_at = $6, compensated_at = $7, compensations = $8, has_skips = $9, undo = $10
 where id = $11 and version = $12
