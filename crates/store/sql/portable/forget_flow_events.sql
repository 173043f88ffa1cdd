-- What lies too far back in a flow's history.
delete from flow_events where flow_id = $1 and number <= $2
