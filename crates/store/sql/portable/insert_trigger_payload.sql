-- Something was sent to a trigger.
insert into trigger_payloads (workflow_id, number, trigger_key, webhook_id, payload, received_at, source, identity, verdict, why, run)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
