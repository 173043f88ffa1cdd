-- The look is over, if nobody else has looked since; where its searches go on, if it searched.
update stuck_looks
   set node_id = null, ends_at = null, rounds = coalesce($1, rounds), version = version + 1
 where id = 1 and node_id = $2 and version = $3
