-- Workflows in one state of which something is done, oldest first, from one to another; those that another started stand in that one.
select {workflow_columns} from workflows w
 where state = $1 and (state = 'pending' or state = 'running' or state = 'paused' or state = 'failed'
       or state = 'compensating' or state = 'compensation_failed')
   and id > $2 and id <= $3 and parent_step_id is null
   and exists (select 1 from steps s where s.workflow_id = w.id and s.block_id is null
                  and (s.state = 'completed' or s.state = 'skipped'))
 order by id limit $4
