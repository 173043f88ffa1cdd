-- Something happened to an alert.
insert into alert_events (entity, entity_id, reason, at, moment, who, text) values ($1, $2, $3, $4, $5, $6, $7)
