-- The last of what was said about a flow, newest first.
select number, at, event, step, state, said_by, message from flow_events where flow_id = $1 order by number desc limit $2
