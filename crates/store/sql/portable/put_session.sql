-- A session as it is now. Its lease may have been renewed with those of all sessions; it does not become shorter.
insert into sessions (id, node_id, host, queues, actions, capacity, started_at, lease_ends_at, ended_at, remote)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
on conflict (id) do update
   set lease_ends_at = case when excluded.lease_ends_at > sessions.lease_ends_at then excluded.lease_ends_at
                            else sessions.lease_ends_at end,
       ended_at = excluded.ended_at, node_id = excluded.node_id
