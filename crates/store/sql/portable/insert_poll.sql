-- One poll that was answered.
insert into poll_attempts (step_id, number, attempt, result_complete, result_continue, next_interval_ms, executed_at, data)
values ($1, $2, $3, $4, $5, $6, $7, $8)
