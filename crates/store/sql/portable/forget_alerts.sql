-- Take away alerts that were closed long ago.
delete from alerts
 where closed_at is not null and closed_at < $1
