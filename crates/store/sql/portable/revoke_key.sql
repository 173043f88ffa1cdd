-- A key that is revoked stays so; the first time counts.
update api_keys set revoked_at = $1 where id = $2 and revoked_at is null
