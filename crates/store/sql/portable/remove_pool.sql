-- Remove a pool that nobody uses and nobody waits for, if its limits still are what was seen.
delete from pools
 where name = $1 and concurrency is not distinct from $2 and rate_starts is not distinct from $3
   and rate_per is not distinct from $4 and rate_burst is not distinct from $5
   and not exists (select 1 from pool_slots p where p.pool = $1)
   and not exists (select 1 from steps s where s.pool = $1 and s.state = 'pending' and s.block_id is null
                      and s.wake_at is null and s.pool is not null)
