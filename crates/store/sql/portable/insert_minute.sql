-- One minute of what a node did.
insert into minutes (at, created, started, completed, failed, ended, waits, runs)
values ($1, $2, $3, $4, $5, $6, $7, $8)
