-- The first of the line of each message group, from one group to the next, never by reading them all.
with recursive heads (message_group, id) as (
    select s.message_group, s.id from steps s
     where s.id = (select id from steps
                    where dispatch_group = $1 and state in ('pending', 'polling') and joined > 0 and message_group > $2
                    order by dispatch_group, message_group, joined desc, sequence, place limit 1)
    union all
    select s.message_group, s.id from heads h join steps s
        on s.id = (select id from steps
                    where dispatch_group = $1 and state in ('pending', 'polling') and joined > 0 and message_group > h.message_group
                    order by dispatch_group, message_group, joined desc, sequence, place limit 1)
)
select {columns} from steps where id in (select id from heads limit $3) order by message_group
