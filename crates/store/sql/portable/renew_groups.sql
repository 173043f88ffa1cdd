-- The node keeps its dispatch groups.
update dispatch_groups
   set lease_ends_at = $1
 where owner_id = $2
