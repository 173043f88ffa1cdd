-- Ready steps of one priority that stand alone in no order, and need no pool, oldest first, behind a cursor. Said by rows, so that
-- no planner takes the way along all ids.
select {columns} from steps
 where (dispatch_group, queue, priority, id) > ($1, $2, $3, $4) and (dispatch_group, queue, priority) <= ($1, $2, $3)
   and state = 'pending' and block_id is null and wake_at is null and pool is null and mode is null
 order by dispatch_group, queue, priority, id limit $5
