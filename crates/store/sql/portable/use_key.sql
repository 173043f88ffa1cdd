-- The last use, unless another node has just written it down.
update api_keys set last_used_at = $1 where id = $2 and (last_used_at is null or last_used_at <= $3)
