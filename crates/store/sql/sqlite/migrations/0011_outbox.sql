-- Messages that are to be published: written with the dispatch of their step, and gone once the queue has them.
create table outbox (
    step_id blob primary key,
    attempt integer not null,
    dispatch_group text not null,
    at integer not null
) without rowid;
