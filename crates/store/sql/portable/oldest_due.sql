-- Since when the first step that stands alone and had to wait for a time could start; those that are due are looked at from the earliest on.
select min(wake_at) from
  (select wake_at, state, block_id from steps where wake_at is not null and wake_at <= $1 order by wake_at, id limit 1000) as due
 where state = 'pending' and block_id is null
