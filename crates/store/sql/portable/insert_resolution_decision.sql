-- Somebody decided something about a workflow.
insert into resolution_decisions (workflow_id, at, decision, decided_by, why, retry_from_step, detail)
values ($1, $2, $3, $4, $5, $6, $7)
