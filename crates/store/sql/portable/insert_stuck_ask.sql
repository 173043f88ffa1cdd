-- An action is asked for things that are stuck, for the first time.
insert into stuck_asks (rule, step_id, asked_at) values ($1, $2, $3)
on conflict (rule) do nothing
