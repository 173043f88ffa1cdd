-- So far the starts of a pool would have lasted had they come evenly.
update pools
   set full_until = $1
 where name = $2
