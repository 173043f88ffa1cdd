-- One line of the plan of what is undone.
insert into compensation_runs (workflow_id, compensation, position, step_key, undoes, action, state, items_done, items_skipped)
values ($1, $2, $3, $4, $5, $6, $7, 0, 0)
