-- Make a pool, or give one that exists other limits; what it has used of its rate stays.
insert into pools (name, concurrency, rate_starts, rate_per, rate_burst)
values ($1, $2, $3, $4, $5)
on conflict (name) do update set concurrency = excluded.concurrency, rate_starts = excluded.rate_starts,
    rate_per = excluded.rate_per, rate_burst = excluded.rate_burst
