-- One second of a dispatch group.
insert into ticks (id, dispatch_group, started_at, completed_at, duration_us, turns, progress, steps_dispatched, capped,
    left_over, phases)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
