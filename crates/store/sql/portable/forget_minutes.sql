-- Minutes that no chart shows any more.
delete from minutes
 where at < $1
