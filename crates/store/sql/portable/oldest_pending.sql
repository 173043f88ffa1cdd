-- When the oldest ready step was made that stands alone in no order and needs no pool: the first of each sort, from one to the next.
-- Written as values, for SQLite seeks by whole rows only where they are compared with no column of another table.
with recursive sorts (dispatch_group, queue, priority, created_at) as (
    select s.dispatch_group, s.queue, s.priority, s.created_at from steps s
     where s.id = (select id from steps
                    where state = 'pending' and block_id is null and wake_at is null and pool is null and mode is null
                    order by dispatch_group, queue, priority, id limit 1)
    union all
    select s.dispatch_group, s.queue, s.priority, s.created_at from sorts t join steps s
        on s.id = (select id from steps
                    where state = 'pending' and block_id is null and wake_at is null and pool is null and mode is null
                      and (dispatch_group, queue, priority) > (t.dispatch_group || '', t.queue || '', t.priority || '')
                    order by dispatch_group, queue, priority, id limit 1)
)
select min(created_at) from sorts
