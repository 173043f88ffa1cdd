-- No worker has the step any more.
delete from pool_slots
 where step_id = $1
