-- Take away what happened to alerts long ago.
delete from alert_events
 where at < $1
