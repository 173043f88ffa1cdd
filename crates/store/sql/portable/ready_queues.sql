-- Which queues of a dispatch group have ready steps that stand alone in no order and need no pool: from one to the next, never by
-- reading them all; as values, as in `oldest_pending.sql`.
with recursive queues (queue, priority) as (
    select s.queue, s.priority from steps s
     where s.id = (select id from steps
                    where dispatch_group = $1
                      and state = 'pending' and block_id is null and wake_at is null and pool is null and mode is null
                    order by dispatch_group, queue, priority, id limit 1)
    union all
    select s.queue, s.priority from queues q join steps s
        on s.id = (select id from steps
                    where (dispatch_group, queue, priority) > ($1, q.queue || '', q.priority || '') and dispatch_group <= $1
                      and state = 'pending' and block_id is null and wake_at is null and pool is null and mode is null
                    order by dispatch_group, queue, priority, id limit 1)
)
select queue, priority from queues
