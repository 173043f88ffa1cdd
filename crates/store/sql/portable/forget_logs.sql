-- Of many runs only the last ones are kept.
delete from step_logs
 where step_id = $1 and attempt <= $2
