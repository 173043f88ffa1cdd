-- One row of the claim log.
insert into claims (id, session_id, tick_id, claimed_at, parked, pairs) values ($1, $2, $3, $4, $5, $6)
