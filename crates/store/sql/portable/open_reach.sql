-- How far a look at so many open blocks of one dispatch group goes.
select id from blocks where is_open = 1 and home = $1 and id > $2 order by id limit 1 offset $3
