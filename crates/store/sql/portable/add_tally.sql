-- Count one sort of steps up or down.
insert into tallies (dispatch_group, queue, action, host, state, leaf, throttled, n)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (dispatch_group, queue, action, host, state, leaf, throttled) do update set n = tallies.n + excluded.n
