-- The breaker over all groups turns on when its time is over, unless somebody has switched it since.
update settings
   set value = $1
 where name = 'breaker' and value = $2
