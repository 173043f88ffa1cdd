-- What came early was looked at.
update trigger_payloads
   set verdict = $1, why = $2, run = $3
 where workflow_id = $4 and number = $5 and verdict = 'early'
