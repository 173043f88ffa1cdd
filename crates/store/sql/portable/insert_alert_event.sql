-- Something happened to an alert.
insert into alert_events (entity, entity_id, reason, at, moment, who, text, step_id) values ($1, $2, $3, $4, $5, $6, $7, $8)
