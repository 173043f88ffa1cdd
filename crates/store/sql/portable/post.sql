-- A message is to be published for this attempt.
insert into outbox (step_id, attempt, dispatch_group, at)
values ($1, $2, $3, $4)
on conflict (step_id) do update set attempt = excluded.attempt, at = excluded.at
