-- Alerts: what stands still, who was told, what was tried, and who looked at it.
alter table alerts add column rule text;
alter table alerts add column user_id text;
alter table alerts add column labels text not null default '{}';
alter table alerts add column data text;
alter table alerts add column since integer not null default 0;
alter table alerts add column seen integer not null default 1;
alter table alerts add column remedy text not null default 'notify';
alter table alerts add column auto_resolvable integer not null default 0;
alter table alerts add column auto_resolved integer not null default 0;
alter table alerts add column attempts integer not null default 0;
alter table alerts add column action_taken text;
alter table alerts add column last_remedy_at integer;
alter table alerts add column status_text text;
alter table alerts add column admin_notified_at integer;
alter table alerts add column user_notified_at integer;
alter table alerts add column escalated_at integer;
alter table alerts add column acknowledged_at integer;
alter table alerts add column acknowledged_by text;
alter table alerts add column assigned_to text;
alter table alerts add column reviewed_at integer;
alter table alerts add column reviewed_by text;
alter table alerts add column resolution_notes text;
alter table alerts add column closed_by text;
alter table alerts add column version integer not null default 0;
update alerts set since = opened_at;
update alerts set closed_by = 'observed' where closed_at is not null;
update alerts set severity = 'medium' where severity = 'warning';
-- Those that are open, the newest, and those that are over, by when.
create index alerts_newest on alerts (opened_at, id) where closed_at is null;
create index alerts_closed on alerts (closed_at, id) where closed_at is not null;

-- What happened to the alerts of a thing. Remedies are counted here, never beside it.
create table alert_events (
    id integer primary key,
    entity text not null,
    entity_id text not null,
    reason text not null,
    at integer not null,
    moment text not null,
    who text not null,
    text text not null
);
create index alert_events_of on alert_events (entity, entity_id, reason, id);
create index alert_events_at on alert_events (at);
create index alert_remedies on alert_events (at, entity, entity_id) where moment = 'remedy';

-- Rules about what is stuck that are not there from the start, or say something else than those.
create table stuck_rules (
    name text primary key check (name <> ''),
    body text not null,
    source text not null check (source = 'api' or source = 'configuration'),
    changed_at integer not null,
    changed_by text not null,
    version integer not null default 0
) without rowid;

-- The steps that ask actions for things that are stuck, one of each rule.
create table stuck_asks (
    rule text primary key check (rule <> ''),
    step_id blob not null check (length(step_id) = 16),
    asked_at integer not null,
    heard_at integer,
    fault text
) without rowid;

-- Open blocks of a group by their age, so that the oldest are found first.
drop index blocks_open;
create index blocks_open on blocks (home, id) where is_open = 1;
-- Steps that failed, by when.
create index steps_failed on steps (completed_at, id) where state = 'failed' or state = 'stopped' or state = 'timed_out';
