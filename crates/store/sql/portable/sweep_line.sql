-- Take a step that ended out of the index of its line.
update steps set joined = 0, version = version + 1
 where id = $1 and version = $2
