-- The answer to a signal, with its effects in the same commit.
update signals
   set answer = $1, answered_at = $2
 where id = $3 and answered_at is null
