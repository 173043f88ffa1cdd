-- Answers nobody came back for, and words to nodes that are gone.
delete from signals
 where at < $1 and (answered_at is not null or node_id is not null)
