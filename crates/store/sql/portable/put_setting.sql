-- One setting of the whole database.
insert into settings (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value
