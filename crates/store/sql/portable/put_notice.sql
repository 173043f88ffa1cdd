-- A channel is told something: for the first time, or again after it was quiet for long enough.
insert into notices (channel, notice_key, told_at, step_id, kind, severity, entity_type, entity_id, title)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (channel, notice_key) do update
   set told_at = excluded.told_at, step_id = excluded.step_id, kind = excluded.kind, severity = excluded.severity,
       entity_type = excluded.entity_type, entity_id = excluded.entity_id, title = excluded.title
 where notices.told_at < excluded.told_at
