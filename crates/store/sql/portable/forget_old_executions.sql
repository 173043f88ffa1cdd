-- A page of executions that were made long ago, whatever was asked for; what somebody holds stays, also what was
-- taken meanwhile.
delete from executions
 where +created_at <= $1 and (lease_ends_at is null or lease_ends_at <= $2) and (namespace, key) in
    (select e.namespace, e.key from executions e
      where e.created_at <= $1 and (e.lease_ends_at is null or e.lease_ends_at <= $2)
      order by e.created_at, e.namespace, e.key limit $3)
