-- Take the look for what is stuck, unless a node that lives has it.
update stuck_looks
   set node_id = $1, ends_at = $2, version = version + 1
 where id = 1 and (node_id is null or node_id = $3 or ends_at <= $4
        or not exists (select 1 from nodes n where n.id = stuck_looks.node_id and n.ended_at is null))
