-- The steps of a flow in the order they were declared.
select name, position, optional, state, at, message from flow_steps where flow_id = $1 order by position, name
