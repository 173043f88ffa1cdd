-- Every pool, and how many slots of it are taken.
select name, concurrency, rate_starts, rate_per, rate_burst, full_until,
       (select count(*) from pool_slots p where p.pool = pools.name)
  from pools order by name
