-- The oldest of the first ready steps that stand alone and need no pool; a figure for people, so it reads no more than that.
select min(created_at) from
  (select created_at from steps where state = 'pending' and block_id is null and wake_at is null and pool is null and mode is null
    order by dispatch_group, queue, priority, id limit 1000) as ready
