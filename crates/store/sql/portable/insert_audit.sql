-- Who did what, and why.
insert into audit (at, who, verb, target, why, before, after) values ($1, $2, $3, $4, $5, $6, $7)
