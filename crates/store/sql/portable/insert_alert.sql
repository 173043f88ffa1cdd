-- Open an alert that a rule found, if nobody else has.
insert into alerts (entity, entity_id, reason, severity, message, opened_at, updated_at, rule, user_id, labels, data, since, remedy,
    auto_resolvable, attempts, action_taken, last_remedy_at, status_text, admin_notified_at, user_notified_at, escalated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
on conflict (entity, entity_id, reason) where closed_at is null do nothing
