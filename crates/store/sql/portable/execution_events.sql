-- What happened to one execution.
select at, attempt, event, owner, error from execution_events where namespace = $1 and key = $2
 order by attempt desc, at desc limit 1000
