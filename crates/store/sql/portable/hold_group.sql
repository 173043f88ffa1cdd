-- A message group is held back.
insert into message_groups (message_group, blocked_by, dispatch_group, at, by_whom, why) values ($1, $2, $3, $4, $5, $6)
    on conflict (message_group, blocked_by) do update set at = excluded.at, by_whom = excluded.by_whom, why = excluded.why
