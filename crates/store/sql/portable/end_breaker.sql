-- A breaker whose time is over turns on, unless somebody has switched it since.
update dispatch_groups
   set breaker = $1
 where dispatch_group = $2 and breaker = $3
