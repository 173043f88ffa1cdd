-- A page of executions whose time is over; what somebody holds stays, also what was taken meanwhile.
delete from executions
 where +keep_until <= $1 and (lease_ends_at is null or lease_ends_at <= $2) and (namespace, key) in
    (select e.namespace, e.key from executions e
      where e.keep_until <= $1 and (e.lease_ends_at is null or e.lease_ends_at <= $2)
      order by e.keep_until, e.namespace, e.key limit $3)
