-- One move of a step, where every move is kept.
insert into events (at, entity, entity_id, from_state, event, to_state, attempt) values ($1, 'step', $2, $3, $4, $5, $6)
