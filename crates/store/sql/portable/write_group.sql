-- A change of a dispatch group's own row; what is null stays.
update dispatch_groups
   set breaker = coalesce($1, breaker), lease_ends_at = coalesce($2, lease_ends_at),
       last_selected_at = coalesce($3, last_selected_at), current_tick_id = coalesce($4, current_tick_id),
       last_tick_completed_at = coalesce($5, last_tick_completed_at), ready = coalesce($6, ready),
       published_to = coalesce($7, published_to)
 where dispatch_group = $8
