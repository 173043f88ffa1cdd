-- Write a block whose default steps moved and nothing else, only if its row is still the one the turn saw.
update blocks
   set steps = $1, live = $2, current_index = $3, touched = $4, is_open = $5, version = version + 1
 where id = $6 and version = $7
