-- A new key, without its secret.
insert into api_keys (id, name, hash, role, scope, created_at, created_by, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, $8)
