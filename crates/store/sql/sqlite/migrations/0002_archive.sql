-- The archive is purged by whole trees, so a tree must be found in it without reading all of it.

create index steps_archive_block on steps_archive (block_id, block_index, id) where block_id is not null;
create unique index blocks_archive_id on blocks_archive (id);
