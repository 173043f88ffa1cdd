-- One line of a flow's history, numbered by what it made of the flow.
insert into flow_events (flow_id, number, at, event, step, state, said_by, message) values ($1, $2, $3, $4, $5, $6, $7, $8)
