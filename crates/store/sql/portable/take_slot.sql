-- A step has a slot of its pool from its claim on.
insert into pool_slots (step_id, pool, dispatch_group, at)
values ($1, $2, $3, $4)
on conflict (step_id) do nothing
