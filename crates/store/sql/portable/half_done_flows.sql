-- Flows of which something has happened and that are not over, oldest first, behind one.
select {flow_columns} from flows
 where (state = 'failed' or state = 'running' and progressed_at is not null) and id > $1 order by id limit $2
