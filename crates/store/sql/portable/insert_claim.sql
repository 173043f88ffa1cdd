-- One row of the claim log.
insert into claims (id, session_id, dispatch_group, tick_id, claimed_at, parked, pairs) values ($1, $2, $3, $4, $5, $6, $7)
