-- Whoever inserts has started the run; of two that start at once one is told to look again.
insert into flows (id, type, key, entity_type, entity_id, run, user_id, state, message, is_open, retry_action, cancel_action,
    started_at, started_by, updated_at, timeout_at, version)
values ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9, $10, $11, $12, $13, $12, $14, 1)
on conflict do nothing
