-- Of what was not accepted only the last is kept.
delete from trigger_payloads
 where workflow_id = $1 and number = $2 and verdict in ('rejected', 'late', 'duplicate')
