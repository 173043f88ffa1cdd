-- Which pools, groups, queues and priorities have ready steps that stand alone: from one to the next, never by reading them all; as values,
-- as in `oldest_pending.sql`.
with recursive sorts (pool, dispatch_group, queue, priority) as (
    select s.pool, s.dispatch_group, s.queue, s.priority from steps s
     where s.id = (select id from steps
                    where state = 'pending' and block_id is null and wake_at is null and pool is not null and mode is null
                    order by pool, dispatch_group, queue, priority, id limit 1)
    union all
    select s.pool, s.dispatch_group, s.queue, s.priority from sorts t join steps s
        on s.id = (select id from steps
                    where state = 'pending' and block_id is null and wake_at is null and pool is not null and mode is null
                      and (pool, dispatch_group, queue, priority) > (t.pool || '', t.dispatch_group || '', t.queue || '', t.priority || '')
                    order by pool, dispatch_group, queue, priority, id limit 1)
)
select pool, dispatch_group, queue, priority from sorts
