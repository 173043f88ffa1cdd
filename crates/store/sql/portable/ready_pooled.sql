-- Ready steps of one priority and pool that stand alone in no order, oldest first, behind a cursor.
select {columns} from steps
 where pool = $6 and dispatch_group = $1 and queue = $2 and priority = $3 and state = 'pending' and block_id is null
   and wake_at is null and pool is not null and mode is null and id > $4
 order by pool, dispatch_group, queue, priority, id limit $5
