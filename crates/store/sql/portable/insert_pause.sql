-- Those behind a step wait.
insert into pauses (workflow_id, def, run, step_id, step_key, kind, trigger_key, token_hash, registered_at, timeout_at,
                    resume_at, reminders, state, ended_at, consumed)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
