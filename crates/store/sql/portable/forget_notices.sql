-- What was told so long ago that it may be told again.
delete from notices
 where told_at < $1
