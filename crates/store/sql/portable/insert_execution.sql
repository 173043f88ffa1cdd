-- Whoever inserts has begun; there is no moment between looking and acting.
insert into executions (namespace, key, input_hash, owner, lease_ends_at, max_attempts, created_at, updated_at, keep_until,
    state, attempt, failed_attempts)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'in_progress', 1, 0)
on conflict (namespace, key) do nothing
