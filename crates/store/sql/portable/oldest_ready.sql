-- When the oldest ready step of a group that stands alone was made.
select min(created_at) from steps
 where dispatch_group = $1 and state = 'pending' and block_id is null and wake_at is null and pool is null and mode is null
