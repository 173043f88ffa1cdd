-- Which way was taken, and from what.
insert into branch_decisions (workflow_id, step_key, kind, expression, result, inputs, at)
values ($1, $2, $3, $4, $5, $6, $7)
