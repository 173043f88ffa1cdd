-- A step of a flow; one that is there is left as it is.
insert into flow_steps (flow_id, name, position, optional, state, at, message) values ($1, $2, $3, $4, $5, $6, $7)
on conflict (flow_id, name) do nothing
