-- Take the row for this transaction: what is read of it next cannot change before it is written.
update flows set version = version where id = $1
