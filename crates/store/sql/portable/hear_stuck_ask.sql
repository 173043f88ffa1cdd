-- The answer of an action was heard, if it is the one that is awaited.
update stuck_asks
   set heard_at = $1, fault = $2
 where rule = $3 and step_id = $4 and heard_at is null
