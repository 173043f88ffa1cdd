-- How far the undoing of a step is.
update compensation_runs
   set state = $1, step_id = $2, items_done = $3, items_skipped = $4, cursor_at = $5, cursor_id = $6, started_at = $7,
       finished_at = $8, failure_message = $9
 where workflow_id = $10 and compensation = $11 and position = $12
