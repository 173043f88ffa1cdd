-- Take the steps that ended out of a line, up to a rank.
update steps set joined = 0
 where dispatch_group = $1 and message_group = $2 and joined = 1 and (sequence, place) <= ($3, $4) and state = 'completed'
