-- Of many attempts only the last ones are kept.
delete from step_attempts
 where step_id = $1 and attempt <= $2
