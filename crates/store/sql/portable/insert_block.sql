-- A new block, as the summary of the steps that come with it.
insert into blocks (id, owner_id, home, success, depth, steps, resolvers, live, live_resolvers, current_index,
    resolver_index, cut_at, resolver_cut_at, wants_resolvers, blame, sweep_kind, sweep_event, sweep_above, sweep_index,
    sweep_id, touched, is_open, to_come, held, version)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, 0)
