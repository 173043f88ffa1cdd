-- The front of the line of one message group: whoever was claimed before, then by rank.
select {columns} from steps
 where dispatch_group = $1 and message_group = $2 and state in ('pending', 'polling') and joined > 0
 order by dispatch_group, message_group, joined desc, sequence, place limit $3
