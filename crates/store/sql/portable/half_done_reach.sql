-- How far a look at so many workflows in one state goes.
select id from workflows
 where state = $1 and (state = 'pending' or state = 'running' or state = 'paused' or state = 'failed'
       or state = 'compensating' or state = 'compensation_failed')
   and id > $2
 order by id limit 1 offset $3
