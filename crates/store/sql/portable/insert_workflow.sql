-- A new workflow.
insert into workflows (id, definition_key, definition_version, definition_hash, dispatch_group, state, message, parent_step_id,
    depth, input, output, labels, created_at, started_at, completed_at, wake_at, concurrency_key, expected_at, paused_by,
    trace, version)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, 0)
