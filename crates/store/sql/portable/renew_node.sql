-- The node lives.
update nodes
   set seen_at = $1
 where id = $2
