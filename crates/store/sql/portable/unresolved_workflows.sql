-- Workflows that failed and about which nobody has decided, oldest first, behind one.
select {workflow_columns} from workflows w
 where state = 'failed' and resolved_at is null and id > $1 and parent_step_id is null order by id limit $2
