-- Messages that are to be published: written with the dispatch of their step, and gone once the queue has them.
create table outbox (
    step_id bytea primary key,
    attempt bigint not null,
    dispatch_group text not null,
    at bigint not null
);
