-- Steps of some groups whose time comes until then, earliest first, behind a cursor.
select wake_at, id from steps
 where wake_at is not null and wake_at <= $1 and (wake_at, id) > ($2, $3) and dispatch_group in ({groups})
 order by wake_at, id limit {limit}
