-- Give a pool other limits, if they still are what was seen.
update pools
   set concurrency = $2, rate_starts = $3, rate_per = $4, rate_burst = $5
 where name = $1 and concurrency is not distinct from $6 and rate_starts is not distinct from $7
   and rate_per is not distinct from $8 and rate_burst is not distinct from $9
