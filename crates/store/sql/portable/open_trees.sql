-- Steps that stand alone and wait for what they own, oldest first, behind one. Only blocks that are open are looked at.
select s.id from blocks b join steps s on s.id = b.owner_id
 where b.is_open = 1 and s.block_id is null and s.workflow_id is null and s.id > $1 order by s.id limit $2
