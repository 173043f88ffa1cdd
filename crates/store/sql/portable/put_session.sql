-- A session as it is now.
insert into sessions (id, node_id, host, queues, actions, capacity, started_at, lease_ends_at, ended_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (id) do update set lease_ends_at = excluded.lease_ends_at, ended_at = excluded.ended_at
