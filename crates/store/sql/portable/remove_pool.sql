-- Remove a pool that nobody uses and nobody waits for.
delete from pools
 where name = $1 and not exists (select 1 from pool_slots p where p.pool = $1)
   and not exists (select 1 from steps s where s.pool = $1 and s.state = 'pending' and s.block_id is null
                      and s.wake_at is null and s.pool is not null)
