-- Ready steps of one priority and pool that stand alone in no order, oldest first, behind a cursor.
select {columns} from steps
 where (pool, dispatch_group, queue, priority, id) > ($6, $1, $2, $3, $4)
   and (pool, dispatch_group, queue, priority) <= ($6, $1, $2, $3)
   and state = 'pending' and block_id is null and wake_at is null and pool is not null and mode is null
 order by pool, dispatch_group, queue, priority, id limit $5
