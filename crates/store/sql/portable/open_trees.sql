-- Steps of one dispatch group that stand alone and wait for what they own, by the blocks that are open there, from one to another.
select b.id, s.id from blocks b join steps s on s.id = b.owner_id
 where b.is_open = 1 and b.home = $1 and b.id > $2 and b.id <= $3 and s.block_id is null and s.workflow_id is null
 order by b.id limit $4
