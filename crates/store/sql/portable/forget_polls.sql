-- Of many polls only the last ones are kept.
delete from poll_attempts
 where step_id = $1 and number <= $2
