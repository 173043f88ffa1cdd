-- When the oldest ready step was made that stands alone and needs a pool: the first of each sort, from one to the next; as values, as in
-- `oldest_pending.sql`.
with recursive sorts (pool, dispatch_group, queue, priority, created_at) as (
    select s.pool, s.dispatch_group, s.queue, s.priority, s.created_at from steps s
     where s.id = (select id from steps
                    where state = 'pending' and block_id is null and wake_at is null and pool is not null and mode is null
                    order by pool, dispatch_group, queue, priority, id limit 1)
    union all
    select s.pool, s.dispatch_group, s.queue, s.priority, s.created_at from sorts t join steps s
        on s.id = (select id from steps
                    where state = 'pending' and block_id is null and wake_at is null and pool is not null and mode is null
                      and (pool, dispatch_group, queue, priority) > (t.pool || '', t.dispatch_group || '', t.queue || '', t.priority || '')
                    order by pool, dispatch_group, queue, priority, id limit 1)
)
select min(created_at) from sorts
