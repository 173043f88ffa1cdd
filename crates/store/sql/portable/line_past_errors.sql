-- The same of a group that is blocked: only those that pass over a failure.
select {columns} from steps
 where dispatch_group = $1 and message_group = $2 and state in ('pending', 'polling') and joined > 0
   and (mode = 'next_on_error' or joined = 2)
 order by dispatch_group, message_group, joined desc, sequence, place limit $3
