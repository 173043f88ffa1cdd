-- An attempt that did not simply succeed, or a delivery.
insert into step_attempts (step_id, attempt, at, session_id, host, started_at, outcome, message, delivery_status,
    http_code, error_type, response_body, duration_ms)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
on conflict do nothing
