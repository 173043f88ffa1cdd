-- Move one step of a flow, only if it is still where it was seen.
update flow_steps set state = $1, at = $2, message = $3 where flow_id = $4 and name = $5 and state = $6
