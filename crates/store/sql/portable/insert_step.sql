-- A new step. Its id is made by the node, so a rule can name it before it is written.
insert into steps (id, dispatch_group, queue, action, priority, kind, block_id, block_index, child_block_id, state, reason,
    wake_at, attempt, max_attempts, retry_delay, retry_factor, retry_max_delay, session_id, host, tick_id, version,
    created_at, dispatched_at, started_at, completed_at, arguments, note, step_key, label, relatable_type, relatable_id,
    parked, response, pool, message_group, mode, sequence, place, joined, expires_at,
    workflow_id, def, run, item, branch_key, error_message, timeout, retry_source, trace)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
    $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49)
