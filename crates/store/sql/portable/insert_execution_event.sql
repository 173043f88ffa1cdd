-- One line of an execution's history.
insert into execution_events (namespace, key, attempt, event, at, owner, error) values ($1, $2, $3, $4, $5, $6, $7)
