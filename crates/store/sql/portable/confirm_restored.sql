-- Somebody let it go on: it is no copy any more.
delete from settings
 where name = $1
