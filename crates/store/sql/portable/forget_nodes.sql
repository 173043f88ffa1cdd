-- Nodes that ended long ago.
delete from nodes
 where ended_at < $1
