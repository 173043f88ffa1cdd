-- Ready steps of one priority that stand alone in no order, and need no pool, oldest first, behind a cursor.
select {columns} from steps
 where dispatch_group = $1 and queue = $2 and priority = $3 and state = 'pending' and block_id is null and wake_at is null
   and pool is null and mode is null and id > $4
 order by dispatch_group, queue, priority, id limit $5
