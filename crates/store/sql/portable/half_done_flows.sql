-- Flows of which something has happened and that are not over, oldest first, behind one. In the words of the index that has only these.
select {flow_columns} from flows
 where case when state = 'running' then progressed_at is not null else state = 'failed' end and id > $1 order by id limit $2
