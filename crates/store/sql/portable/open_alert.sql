-- Open an alert, or renew the open one.
insert into alerts (entity, entity_id, reason, severity, message, opened_at, updated_at, since, admin_notified_at, escalated_at)
values ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9)
on conflict (entity, entity_id, reason) where closed_at is null
do update set message = excluded.message, updated_at = excluded.updated_at, seen = alerts.seen + 1
