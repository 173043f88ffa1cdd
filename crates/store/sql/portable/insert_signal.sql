-- Something for the owner of a dispatch group, or for a node.
insert into signals (id, dispatch_group, node_id, from_node_id, body, at) values ($1, $2, $3, $4, $5, $6)
