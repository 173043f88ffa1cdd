-- The node speaks for its sessions.
update sessions
   set lease_ends_at = $1
 where node_id = $2 and ended_at is null
