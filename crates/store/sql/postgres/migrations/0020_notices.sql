-- Where notices go. What deliveries are signed with, and the address of a chat, are sealed.
create table channels (
    name text collate "C" primary key check (name <> ''),
    kind text not null check (kind = 'webhook' or kind = 'chat'),
    url text not null,
    audience text not null check (audience = 'admin' or audience = 'user'),
    min_severity text not null,
    kinds text not null,
    labels text not null,
    per_minute bigint not null,
    quiet bigint not null,
    active smallint not null,
    secrets text not null,
    created_at bigint not null,
    created_by text not null,
    revision bigint not null default 0
);

-- What each channel was told, by key: the same is not told again. The step that delivers it, until retention takes that away.
create table notices (
    channel text collate "C" not null,
    notice_key text collate "C" not null,
    told_at bigint not null,
    step_id bytea,
    kind text not null,
    severity text not null,
    entity_type text not null,
    entity_id text not null,
    title text not null,
    primary key (channel, notice_key)
);
create index notices_told on notices (channel, told_at);
create index notices_old on notices (told_at);
create index notices_step on notices (step_id) where step_id is not null;

-- How much each channel was sent, and what it will be told as one.
create table channel_sends (
    channel text collate "C" primary key,
    told bigint not null,
    gathered bigint not null,
    waiting text,
    version bigint not null
);
