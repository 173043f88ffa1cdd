-- What held a message group back does so no more.
delete from message_groups
 where message_group = $1 and blocked_by = $2
