-- A row of the claim log of which nothing is in flight any more.
delete from claims
 where id = $1
