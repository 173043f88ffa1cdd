-- How much a channel was sent, if its row still is the one that was seen.
update channel_sends
   set told = $1, gathered = $2, waiting = $3, version = version + 1
 where channel = $4 and version = $5
