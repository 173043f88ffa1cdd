-- What one run of a step said on the way.
insert into step_logs (step_id, attempt, n, at, text) values ($1, $2, $3, $4, $5)
on conflict do nothing
