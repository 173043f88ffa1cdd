-- Of some message groups (`line`, with their dispatch groups): who is first in line, and what holds each back.
select line.name,
       (select id from steps
         where dispatch_group = line.home and message_group = line.name and state in ('pending', 'polling') and joined > 0
         order by dispatch_group, message_group, joined desc, sequence, place limit 1),
       h.blocked_by, h.at, h.by_whom, h.why
  from line left join message_groups h on h.message_group = line.name
 order by line.name, h.blocked_by
