-- Move one execution, only if it is still as it was seen.
update executions
   set state = $1, owner = $2, lease_ends_at = $3, attempt = $4, failed_attempts = $5, max_attempts = $6, answer = $7,
       error = $8, updated_at = $9, keep_until = $10
 where namespace = $11 and key = $12 and owner = $13 and attempt = $14 and state = $15 and updated_at = $16
