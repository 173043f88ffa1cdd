-- Workflows that failed, that no other started and about which nobody has decided, oldest first, behind one.
select {workflow_columns} from workflows w
 where state = 'failed' and resolved_at is null and parent_step_id is null and id > $1 order by id limit $2
