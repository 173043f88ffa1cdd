-- Somebody finished it as failed: what is said of its steps after that is late.
alter table flows add column given_up_at bigint;
update flows set given_up_at = updated_at
 where state = 'failed' and not exists
    (select 1 from flow_steps s where s.flow_id = flows.id and s.state = 'failed' and s.optional = 0);

-- As people look for them, each from the newest on.
create index flows_key on flows (key, id);
create index flows_entity_id on flows (entity_id, id);
create index flows_entity_type on flows (entity_type, id);
create index flows_state on flows (state, id);
drop index flows_entity;
-- Half done, in words that no other index answers to.
drop index flows_half_done;
create index flows_half_done on flows (id)
    where case when state = 'running' then progressed_at is not null else state = 'failed' end;

-- Workflows that failed, that no other started and about which nobody has decided, oldest first.
create index workflows_undecided on workflows (id)
    where state = 'failed' and resolved_at is null and parent_step_id is null;

-- Workflows about which something may still happen, counted as steps are: by dispatch group, definition and state, in no queue.
insert into tallies (dispatch_group, queue, action, host, state, leaf, throttled, n)
select dispatch_group, '', definition_key, '', state, 0, 0, count(*) from workflows
 where state = 'pending' or state = 'running' or state = 'paused' or state = 'failed' and resolved_at is null
    or state = 'compensating' or state = 'compensation_failed'
 group by dispatch_group, definition_key, state;
