-- The queue has the message of this attempt, or nobody is to have it any more.
delete from outbox
 where step_id = $1 and attempt = $2
