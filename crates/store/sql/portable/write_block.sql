-- Write a block's summary, only if its row is still the one the turn saw.
update blocks
   set steps = $1, resolvers = $2, live = $3, live_resolvers = $4, current_index = $5, resolver_index = $6, cut_at = $7,
       resolver_cut_at = $8, wants_resolvers = $9, blame = $10, sweep_kind = $11, sweep_event = $12, sweep_above = $13,
       sweep_index = $14, sweep_id = $15, touched = $16, is_open = $17, to_come = $18, held = $19,
       owner_id = $20, version = version + 1
 where id = $21 and version = $22
