-- Pending steps at one index of a block, behind a cursor. Said by rows, so that no planner takes the way along all ids.
select {columns} from steps
 where block_id is not null and (block_id, block_index, id) > ($1, $2, $3) and (block_id, block_index) <= ($1, $2)
   and state = 'pending' and kind = $4
 order by block_id, block_index, id limit $5
