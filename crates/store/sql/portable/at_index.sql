-- Pending steps at one index of a block, behind a cursor.
select {columns} from steps
 where block_id = $1 and block_index = $2 and id > $3 and state = 'pending' and kind = $4
 order by id limit $5
