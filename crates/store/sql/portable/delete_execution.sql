-- Remove one execution and its history, only if it is still as it was seen.
delete from executions where namespace = $1 and key = $2 and owner = $3 and attempt = $4 and state = $5 and updated_at = $6
