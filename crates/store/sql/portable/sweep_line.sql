-- Take a step that ended out of the index of its line; nothing else of it changes, so its version stays.
update steps set joined = 0
 where id = $1 and version = $2
