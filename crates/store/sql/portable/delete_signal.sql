-- A signal nobody waits for any more.
delete from signals
 where id = $1
