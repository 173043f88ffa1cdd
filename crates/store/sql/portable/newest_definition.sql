-- The newest version of a definition.
select key, version, hash, text from definitions where key = $1 order by major desc, minor desc, patch desc limit 1
