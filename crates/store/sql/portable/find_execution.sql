-- The record of a key.
select namespace, key, input_hash, state, owner, lease_ends_at, attempt, failed_attempts, max_attempts, answer, error,
       created_at, updated_at, keep_until
  from executions where namespace = $1 and key = $2
