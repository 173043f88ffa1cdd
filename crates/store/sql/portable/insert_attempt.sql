-- An attempt that did not simply succeed.
insert into step_attempts (step_id, attempt, at, session_id, host, started_at, outcome, message)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict do nothing
