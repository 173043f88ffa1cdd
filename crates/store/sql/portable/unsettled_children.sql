-- Children of a block that have not ended, in block order, behind a cursor.
select {columns} from steps
 where block_id = $1 and (block_index, id) > ($2, $3)
   and state in ('not_runnable', 'pending', 'dispatched', 'running', 'polling')
 order by block_index, id limit $4
