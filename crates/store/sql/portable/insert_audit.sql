-- Who did what, and why; linked with the row before it.
insert into audit (id, at, who, verb, target, why, before, after, hash)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
