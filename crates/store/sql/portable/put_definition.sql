-- A version of a definition; one that is there stays as it is.
insert into definitions (key, version, major, minor, patch, hash, text, created_at, created_by)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (key, version) do nothing
