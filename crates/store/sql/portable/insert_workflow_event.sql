-- Something happened to a workflow.
insert into workflow_events (dispatch_group, number, workflow_id, at, type, step_key, data)
values ($1, $2, $3, $4, $5, $6, $7)
