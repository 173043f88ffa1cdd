-- Write one step as the turn left it, only if its row is still the one the turn saw. The first response stays.
update steps
   set state = $1, reason = $2, parked = $3, throttled = $4, wake_at = $5, attempt = $6, failed_attempts = $7,
       lost_attempts = $8, polls = $9, priority = $10, child_block_id = $11, session_id = $12, host = $13, tick_id = $14,
       dispatched_at = $15, started_at = $16, completed_at = $17, response = coalesce(response, $18),
       error_message = coalesce($19, error_message), error_stack_trace = coalesce($20, error_stack_trace),
       note = coalesce($21, note), superseded_by = coalesce($22, superseded_by),
       was_throttled = coalesce($23, was_throttled), was_notified = coalesce($24, was_notified),
       late_reports = late_reports + $25, look = $26, joined = $27, block_cleared_at = coalesce($28, block_cleared_at),
       block_cleared_by = coalesce($29, block_cleared_by), block_cleared_why = coalesce($30, block_cleared_why),
       poll_started_at = $31, poll_data = $32, version = version + 1
 where id = $33 and version = $34
