-- The same of all lines, for what a crash left there.
update steps set joined = 0
 where id in (select id from steps where joined > 0 and state in ('completed', 'skipped', 'cancelled', 'failed', 'stopped',
                                                                  'timed_out', 'superseded') limit 10000)
