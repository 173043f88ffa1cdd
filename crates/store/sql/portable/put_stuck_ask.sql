-- The step that asks an action for things that are stuck, and whether its answer was heard.
insert into stuck_asks (rule, step_id, asked_at, heard_at, fault) values ($1, $2, $3, $4, $5)
on conflict (rule) do update set step_id = excluded.step_id, asked_at = excluded.asked_at, heard_at = excluded.heard_at,
    fault = excluded.fault
