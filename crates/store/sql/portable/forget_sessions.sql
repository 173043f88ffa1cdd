-- Sessions that ended long ago.
delete from sessions
 where ended_at < $1
