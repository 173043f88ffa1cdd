-- A label of a new workflow.
insert into workflow_labels (name, value, workflow_id) values ($1, $2, $3)
