-- The first that a channel is sent.
insert into channel_sends (channel, told, gathered, waiting, version) values ($1, $2, $3, $4, 0)
on conflict do nothing
