//! The index of every statement; a test prepares each of them on a migrated database.

pub const INSERT_STEP: &str = include_str!("../sql/portable/insert_step.sql");
pub const WRITE_STEP: &str = include_str!("../sql/portable/write_step.sql");
pub const END_STEP: &str = include_str!("../sql/portable/end_step.sql");
pub const PARK_STEP: &str = include_str!("../sql/portable/park_step.sql");
pub const END_PARKED: &str = include_str!("../sql/portable/end_parked.sql");
pub const INSERT_BLOCK: &str = include_str!("../sql/portable/insert_block.sql");
pub const COUNT_BLOCK: &str = include_str!("../sql/portable/count_block.sql");
pub const WRITE_BLOCK: &str = include_str!("../sql/portable/write_block.sql");
pub const INSERT_WORKFLOW: &str = include_str!("../sql/portable/insert_workflow.sql");
pub const WRITE_WORKFLOW: &str = include_str!("../sql/portable/write_workflow.sql");
pub const WRITE_AFTERMATH: &str = include_str!("../sql/portable/write_aftermath.sql");
pub const INSERT_RESOLUTION_DECISION: &str = include_str!("../sql/portable/insert_resolution_decision.sql");
pub const INSERT_COMPENSATION_RUN: &str = include_str!("../sql/portable/insert_compensation_run.sql");
pub const WRITE_COMPENSATION_RUN: &str = include_str!("../sql/portable/write_compensation_run.sql");
pub const INSERT_WORKFLOW_EVENT: &str = include_str!("../sql/portable/insert_workflow_event.sql");
pub const INSERT_BRANCH_DECISION: &str = include_str!("../sql/portable/insert_branch_decision.sql");
pub const INSERT_WORKFLOW_LABEL: &str = include_str!("../sql/portable/insert_workflow_label.sql");
pub const INSERT_PAUSE: &str = include_str!("../sql/portable/insert_pause.sql");
pub const WRITE_PAUSE: &str = include_str!("../sql/portable/write_pause.sql");
pub const INSERT_TRIGGER_PAYLOAD: &str = include_str!("../sql/portable/insert_trigger_payload.sql");
pub const JUDGE_TRIGGER_PAYLOAD: &str = include_str!("../sql/portable/judge_trigger_payload.sql");
pub const FORGET_TRIGGER_PAYLOAD: &str = include_str!("../sql/portable/forget_trigger_payload.sql");
pub const PUT_DEFINITION: &str = include_str!("../sql/portable/put_definition.sql");
pub const NEWEST_DEFINITION: &str = include_str!("../sql/portable/newest_definition.sql");
pub const ADD_TALLY: &str = include_str!("../sql/portable/add_tally.sql");
pub const INSERT_CLAIM: &str = include_str!("../sql/portable/insert_claim.sql");
pub const DELETE_CLAIM: &str = include_str!("../sql/portable/delete_claim.sql");
pub const INSERT_ATTEMPT: &str = include_str!("../sql/portable/insert_attempt.sql");
pub const INSERT_POLL: &str = include_str!("../sql/portable/insert_poll.sql");
pub const FORGET_POLLS: &str = include_str!("../sql/portable/forget_polls.sql");
pub const FORGET_ATTEMPTS: &str = include_str!("../sql/portable/forget_attempts.sql");
pub const INSERT_LOG: &str = include_str!("../sql/portable/insert_log.sql");
pub const FORGET_LOGS: &str = include_str!("../sql/portable/forget_logs.sql");
pub const INSERT_EVENT: &str = include_str!("../sql/portable/insert_event.sql");
pub const INSERT_TICK: &str = include_str!("../sql/portable/insert_tick.sql");
pub const INSERT_MINUTE: &str = include_str!("../sql/portable/insert_minute.sql");
pub const FORGET_MINUTES: &str = include_str!("../sql/portable/forget_minutes.sql");
pub const INSERT_AUDIT: &str = include_str!("../sql/portable/insert_audit.sql");
pub const INSERT_AUDIT_HEAD: &str = include_str!("../sql/portable/insert_audit_head.sql");
pub const DELETE_AUDIT_HEAD: &str = include_str!("../sql/portable/delete_audit_head.sql");
pub const CONFIRM_RESTORED: &str = include_str!("../sql/portable/confirm_restored.sql");
pub const INSERT_KEY: &str = include_str!("../sql/portable/insert_key.sql");
pub const REVOKE_KEY: &str = include_str!("../sql/portable/revoke_key.sql");
pub const USE_KEY: &str = include_str!("../sql/portable/use_key.sql");
pub const OPEN_ALERT: &str = include_str!("../sql/portable/open_alert.sql");
pub const CLOSE_ALERT: &str = include_str!("../sql/portable/close_alert.sql");
pub const INSERT_ALERT: &str = include_str!("../sql/portable/insert_alert.sql");
pub const RENEW_ALERT: &str = include_str!("../sql/portable/renew_alert.sql");
pub const MARK_ALERT: &str = include_str!("../sql/portable/mark_alert.sql");
pub const INSERT_ALERT_EVENT: &str = include_str!("../sql/portable/insert_alert_event.sql");
pub const FORGET_ALERTS: &str = include_str!("../sql/portable/forget_alerts.sql");
pub const FORGET_ALERT_EVENTS: &str = include_str!("../sql/portable/forget_alert_events.sql");
pub const INSERT_STUCK_ASK: &str = include_str!("../sql/portable/insert_stuck_ask.sql");
pub const WRITE_STUCK_ASK: &str = include_str!("../sql/portable/write_stuck_ask.sql");
pub const HEAR_STUCK_ASK: &str = include_str!("../sql/portable/hear_stuck_ask.sql");
pub const BEGIN_LOOK: &str = include_str!("../sql/portable/begin_look.sql");
pub const END_LOOK: &str = include_str!("../sql/portable/end_look.sql");
pub const INSERT_SIGNAL: &str = include_str!("../sql/portable/insert_signal.sql");
pub const ANSWER_SIGNAL: &str = include_str!("../sql/portable/answer_signal.sql");
pub const DELETE_SIGNAL: &str = include_str!("../sql/portable/delete_signal.sql");
pub const FORGET_SESSIONS: &str = include_str!("../sql/portable/forget_sessions.sql");
pub const FORGET_NODES: &str = include_str!("../sql/portable/forget_nodes.sql");
pub const FORGET_SIGNALS: &str = include_str!("../sql/portable/forget_signals.sql");
pub const END_BREAKER: &str = include_str!("../sql/portable/end_breaker.sql");
pub const END_GLOBAL_BREAKER: &str = include_str!("../sql/portable/end_global_breaker.sql");
pub const PUT_SESSION: &str = include_str!("../sql/portable/put_session.sql");
pub const PUT_SETTING: &str = include_str!("../sql/portable/put_setting.sql");
pub const WRITE_GROUP: &str = include_str!("../sql/portable/write_group.sql");
pub const RENEW_NODE: &str = include_str!("../sql/portable/renew_node.sql");
pub const RENEW_GROUPS: &str = include_str!("../sql/portable/renew_groups.sql");
pub const RENEW_SESSIONS: &str = include_str!("../sql/portable/renew_sessions.sql");
pub const READY_ROOTS: &str = include_str!("../sql/portable/ready_roots.sql");
pub const READY_POOLED: &str = include_str!("../sql/portable/ready_pooled.sql");
pub const READY_QUEUES: &str = include_str!("../sql/portable/ready_queues.sql");
pub const POOLED_SORTS: &str = include_str!("../sql/portable/pooled_sorts.sql");
pub const LINE: &str = include_str!("../sql/portable/line.sql");
pub const LINE_PAST_ERRORS: &str = include_str!("../sql/portable/line_past_errors.sql");
pub const LINE_HEADS: &str = include_str!("../sql/portable/line_heads.sql");
pub const LINE_FRONTS: &str = include_str!("../sql/portable/line_fronts.sql");
pub const SWEEP_LINE: &str = include_str!("../sql/portable/sweep_line.sql");
pub const HOLD_GROUP: &str = include_str!("../sql/portable/hold_group.sql");
pub const RELEASE_GROUP: &str = include_str!("../sql/portable/release_group.sql");
pub const POOLS: &str = include_str!("../sql/portable/pools.sql");
pub const SET_POOL: &str = include_str!("../sql/portable/set_pool.sql");
pub const PUT_POOL: &str = include_str!("../sql/portable/put_pool.sql");
pub const REMOVE_POOL: &str = include_str!("../sql/portable/remove_pool.sql");
pub const TAKE_SLOT: &str = include_str!("../sql/portable/take_slot.sql");
pub const LEAVE_SLOT: &str = include_str!("../sql/portable/leave_slot.sql");
pub const USE_RATE: &str = include_str!("../sql/portable/use_rate.sql");
pub const POST: &str = include_str!("../sql/portable/post.sql");
pub const POSTED: &str = include_str!("../sql/portable/posted.sql");
pub const UNSETTLED_CHILDREN: &str = include_str!("../sql/portable/unsettled_children.sql");
pub const AT_INDEX: &str = include_str!("../sql/portable/at_index.sql");
pub const OLDEST_READY: &str = include_str!("../sql/portable/oldest_ready.sql");
pub const OLDEST_PENDING: &str = include_str!("../sql/portable/oldest_pending.sql");
pub const OLDEST_POOLED: &str = include_str!("../sql/portable/oldest_pooled.sql");
pub const OLDEST_DUE: &str = include_str!("../sql/portable/oldest_due.sql");
pub const PUT_NOTICE: &str = include_str!("../sql/portable/put_notice.sql");
pub const INSERT_CHANNEL_SENDS: &str = include_str!("../sql/portable/insert_channel_sends.sql");
pub const WRITE_CHANNEL_SENDS: &str = include_str!("../sql/portable/write_channel_sends.sql");
pub const FORGET_NOTICES: &str = include_str!("../sql/portable/forget_notices.sql");
pub const INSERT_EXECUTION: &str = include_str!("../sql/portable/insert_execution.sql");
pub const FIND_EXECUTION: &str = include_str!("../sql/portable/find_execution.sql");
pub const WRITE_EXECUTION: &str = include_str!("../sql/portable/write_execution.sql");
pub const DELETE_EXECUTION: &str = include_str!("../sql/portable/delete_execution.sql");
pub const INSERT_EXECUTION_EVENT: &str = include_str!("../sql/portable/insert_execution_event.sql");
pub const EXECUTION_EVENTS: &str = include_str!("../sql/portable/execution_events.sql");
pub const FORGET_EXECUTIONS: &str = include_str!("../sql/portable/forget_executions.sql");
pub const FORGET_OLD_EXECUTIONS: &str = include_str!("../sql/portable/forget_old_executions.sql");
pub const HOLD_FLOW: &str = include_str!("../sql/portable/hold_flow.sql");
pub const INSERT_FLOW: &str = include_str!("../sql/portable/insert_flow.sql");
pub const INSERT_FLOW_STEP: &str = include_str!("../sql/portable/insert_flow_step.sql");
pub const INSERT_FLOW_EVENT: &str = include_str!("../sql/portable/insert_flow_event.sql");
pub const WRITE_FLOW: &str = include_str!("../sql/portable/write_flow.sql");
pub const WRITE_FLOW_STEP: &str = include_str!("../sql/portable/write_flow_step.sql");
pub const FLOW_STEPS: &str = include_str!("../sql/portable/flow_steps.sql");
pub const FLOW_EVENTS: &str = include_str!("../sql/portable/flow_events.sql");
pub const HALF_DONE_FLOWS: &str = include_str!("../sql/portable/half_done_flows.sql");
pub const HALF_DONE_WORKFLOWS: &str = include_str!("../sql/portable/half_done_workflows.sql");
pub const HALF_DONE_REACH: &str = include_str!("../sql/portable/half_done_reach.sql");
pub const UNRESOLVED_WORKFLOWS: &str = include_str!("../sql/portable/unresolved_workflows.sql");
pub const OPEN_TREES: &str = include_str!("../sql/portable/open_trees.sql");
pub const OPEN_REACH: &str = include_str!("../sql/portable/open_reach.sql");
pub const FORGET_FLOW_EVENTS: &str = include_str!("../sql/portable/forget_flow_events.sql");

/// What a rule needs of a step, in the order `rows::step` reads it.
pub const STEP_COLUMNS: &str = "id, dispatch_group, queue, action, priority, kind, block_id, block_index, child_block_id, \
    state, reason, parked, throttled, wake_at, attempt, failed_attempts, lost_attempts, polls, max_attempts, retry_delay, \
    retry_factor, retry_max_delay, session_id, host, tick_id, version, created_at, dispatched_at, started_at, completed_at, \
    arguments, look, case when look is not null then response end as looked_at, pool, message_group, mode, \
    sequence, place, joined, expires_at, workflow_id, def, run, item, timeout, poll_started_at, poll_data, \
    trace";

/// What only people read, behind the step's columns.
pub const DETAIL_COLUMNS: &str = "step_key, label, relatable_type, relatable_id, response, error_message, error_stack_trace, \
    note, superseded_by, was_throttled, was_notified, late_reports, block_cleared_at, block_cleared_by, block_cleared_why, branch_key, \
    retry_source";

/// Workflows about which something may still happen, in the words of the index that has only these.
pub const OPEN_WORKFLOW: &str = "(state = 'pending' or state = 'running' or state = 'paused' or state = 'failed' \
    or state = 'compensating' or state = 'compensation_failed')";

/// Flows that are not over, in the words of the indexes that have only these.
pub const LIVE_FLOW: &str = "(state = 'pending' or state = 'running' or state = 'failed')";

/// In the order `flows::read` reads them.
pub const FLOW_COLUMNS: &str = "id, type, key, entity_type, entity_id, run, user_id, state, previous_state, message, error, \
    is_open, retry_action, cancel_action, started_at, started_by, updated_at, progressed_at, timeout_at, finished_at, version, \
    given_up_at";

/// In the order `workflows::read` reads them.
pub const WORKFLOW_COLUMNS: &str = "id, definition_key, definition_version, definition_hash, dispatch_group, state, message, \
    parent_step_id, depth, input, output, labels, created_at, started_at, completed_at, wake_at, version, \
    concurrency_key, expected_at, auto_retries, auto_retry_at, restarted_at, resolved_at, cancel_requested_at, \
    compensation_started_at, compensated_at, compensations, has_skips, undo, paused_by, trace";

/// In the order `pauses::read` reads them.
pub const PAUSE_COLUMNS: &str = "workflow_id, def, run, step_id, step_key, trigger_key, token_hash, registered_at, timeout_at, \
    resume_at, reminders, state, ended_at, consumed, version";

/// In the order `pauses::payload` reads them.
pub const TRIGGER_PAYLOAD_COLUMNS: &str = "workflow_id, number, trigger_key, webhook_id, payload, received_at, source, \
    identity, verdict, why, run";

/// In the order `rows::session` reads them.
pub const SESSION_COLUMNS: &str =
    "id, node_id, host, queues, actions, capacity, started_at, lease_ends_at, ended_at, remote";

pub const BLOCK_COLUMNS: &str = "id, owner_id, home, success, depth, steps, resolvers, live, live_resolvers, current_index, \
    resolver_index, cut_at, resolver_cut_at, wants_resolvers, blame, sweep_kind, sweep_event, sweep_above, sweep_index, \
    sweep_id, touched, version, to_come, held";

/// `due.sql` for this many groups; the limit comes behind them.
pub fn due(groups: usize) -> String {
    let places: Vec<String> = (4..4 + groups).map(|n| format!("${n}")).collect();
    include_str!("../sql/portable/due.sql")
        .replace("{groups}", &places.join(", "))
        .replace("{limit}", &format!("${}", 4 + groups))
}

pub fn with_columns(sql: &str) -> String {
    sql.replace("{columns}", STEP_COLUMNS)
        .replace("{workflow_columns}", WORKFLOW_COLUMNS)
        .replace("{flow_columns}", FLOW_COLUMNS)
}
