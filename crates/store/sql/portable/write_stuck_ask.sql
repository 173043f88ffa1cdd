-- An action is asked again, if nobody else has since the last answer.
update stuck_asks
   set step_id = $1, asked_at = $2, heard_at = null, fault = null
 where rule = $3 and step_id = $4
