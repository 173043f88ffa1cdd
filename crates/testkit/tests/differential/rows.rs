//! Every row of every table as lines, but for what two machines cannot agree on: measured times and running numbers.

use super::names::Names;
use std::fmt::Write;
use store::Result;
use store::sql::{Cell, Cells, Sql};

const STEPS: &str = "id dispatch_group queue action priority kind block_id block_index child_block_id state reason \
    parked throttled wake_at attempt failed_attempts lost_attempts polls max_attempts retry_delay retry_factor \
    retry_max_delay session_id host tick_id version created_at dispatched_at started_at completed_at arguments response \
    error_message error_stack_trace note step_key label relatable_type relatable_id superseded_by was_throttled \
    was_notified late_reports look pool message_group mode sequence place expires_at block_cleared_at \
    block_cleared_by block_cleared_why workflow_id def run item branch_key timeout retry_source \
    poll_started_at poll_data";
const BLOCKS: &str = "id owner_id home success depth steps resolvers live live_resolvers current_index resolver_index \
    cut_at resolver_cut_at wants_resolvers blame sweep_kind sweep_event sweep_above sweep_index sweep_id touched is_open \
    version to_come held";

/// Table, columns, and the order of its rows.
const TABLES: [(&str, &str, &str); 47] = [
    ("steps", STEPS, "id"),
    ("blocks", BLOCKS, "id"),
    ("steps_archive", STEPS, "id"),
    ("blocks_archive", BLOCKS, "id"),
    ("nodes", "id host pid url version machine started_at seen_at ended_at limited_to standby", "id"),
    ("signals", "id dispatch_group node_id from_node_id body at answer answered_at", "id"),
    ("sessions", "id node_id host queues actions capacity started_at lease_ends_at ended_at remote", "id"),
    ("claims", "id session_id dispatch_group tick_id claimed_at parked pairs", "id"),
    (
        "dispatch_groups",
        "dispatch_group ordinal owner_id epoch lease_ends_at breaker last_selected_at current_tick_id \
         last_tick_completed_at owned_since ready published_to",
        "ordinal",
    ),
    (
        "ticks",
        "id dispatch_group started_at completed_at turns progress steps_dispatched capped left_over phases",
        "id",
    ),
    ("minutes", "at created started completed failed ended", "at, created, started, completed"),
    ("message_groups", "message_group blocked_by dispatch_group at by_whom why", "message_group, blocked_by"),
    ("pools", "name concurrency rate_starts rate_per rate_burst full_until", "name"),
    ("pool_slots", "step_id pool dispatch_group at", "step_id"),
    ("outbox", "step_id attempt dispatch_group at", "step_id"),
    ("tallies", "dispatch_group queue action host state leaf throttled n", ""),
    (
        "step_attempts",
        "step_id attempt at session_id host started_at outcome message delivery_status http_code error_type \
         response_body duration_ms",
        "step_id, attempt, at, outcome",
    ),
    ("step_logs", "step_id attempt n at text", "step_id, attempt, n"),
    ("events", "at entity entity_id from_state event to_state attempt", "seq"),
    (
        "alerts",
        "entity entity_id reason severity message opened_at updated_at closed_at closed_by rule user_id labels data since seen \
         remedy auto_resolvable auto_resolved attempts action_taken last_remedy_at status_text admin_notified_at \
         user_notified_at escalated_at acknowledged_at acknowledged_by assigned_to reviewed_at reviewed_by resolution_notes \
         reopened_at version",
        "id",
    ),
    ("alert_events", "entity entity_id reason at moment who text step_id", "id"),
    ("stuck_rules", "name body source changed_at changed_by version", "name"),
    ("stuck_asks", "rule step_id asked_at heard_at fault", "rule"),
    ("stuck_looks", "node_id ends_at rounds version", "id"),
    ("audit", "id at who verb target why before after hash", "id"),
    ("audit_head", "audit_id hash", "audit_id"),
    ("api_keys", "id name hash role scope created_at created_by expires_at revoked_at last_used_at", "id"),
    ("browser_sessions", "hash key_id signed_in_at used_at", "hash"),
    (
        "subscriptions",
        "id name url types workflow labels active ordered secrets created_at created_by revision",
        "id",
    ),
    (
        "channels",
        "name kind url audience min_severity kinds labels per_minute quiet active secrets created_at created_by revision",
        "name",
    ),
    (
        "notices",
        "channel notice_key told_at step_id kind severity entity_type entity_id title",
        "channel, notice_key",
    ),
    ("channel_sends", "channel told gathered waiting version", "channel"),
    (
        "executions",
        "namespace key input_hash state owner lease_ends_at attempt failed_attempts max_attempts answer error created_at \
         updated_at keep_until",
        "namespace, key",
    ),
    (
        "flows",
        "id type key entity_type entity_id run user_id state previous_state message error is_open retry_action cancel_action \
         started_at started_by updated_at progressed_at timeout_at finished_at version given_up_at",
        "id",
    ),
    ("flow_steps", "flow_id name position optional state at message", "flow_id, name"),
    ("flow_events", "flow_id number at event step state said_by message", "flow_id, number"),
    ("definitions", "key version major minor patch hash text created_at created_by", "key, version"),
    (
        "workflows",
        "id definition_key definition_version definition_hash dispatch_group state message parent_step_id depth input \
         output labels created_at started_at completed_at wake_at concurrency_key expected_at version auto_retries \
         auto_retry_at restarted_at resolved_at cancel_requested_at compensation_started_at compensated_at compensations \
         has_skips undo paused_by",
        "id",
    ),
    ("workflow_labels", "name value workflow_id", "name, value, workflow_id"),
    ("workflow_events", "dispatch_group number workflow_id at type step_key data", "dispatch_group, number"),
    (
        "branch_decisions",
        "workflow_id step_key kind expression result inputs at",
        "workflow_id, at, step_key, kind",
    ),
    (
        "resolution_decisions",
        "workflow_id at decision decided_by why retry_from_step detail",
        "workflow_id, at, decision",
    ),
    (
        "compensation_runs",
        "workflow_id compensation position step_key undoes action state step_id items_done items_skipped cursor_at cursor_id \
         started_at finished_at failure_message",
        "workflow_id, compensation, position",
    ),
    (
        "poll_attempts",
        "step_id number attempt result_complete result_continue next_interval_ms executed_at data",
        "step_id, number",
    ),
    (
        "pauses",
        "workflow_id def run step_id step_key kind trigger_key token_hash registered_at timeout_at resume_at reminders state \
         ended_at consumed version",
        "workflow_id, def, run",
    ),
    (
        "trigger_payloads",
        "workflow_id number trigger_key webhook_id payload received_at source identity verdict why run",
        "workflow_id, number",
    ),
    ("execution_events", "namespace key attempt event at owner error", "namespace, key, attempt, event"),
];
/// On PostgreSQL a part of them stands apart for some seconds.
const TALLIES: &str =
    "select dispatch_group, queue, action, host, state, leaf, throttled, cast(sum(n) as bigint)
    from (select dispatch_group, queue, action, host, state, leaf, throttled, n from tallies union all
          select dispatch_group, queue, action, host, state, leaf, throttled, n from tally_parts) as counted
   group by 1, 2, 3, 4, 5, 6, 7 having sum(n) <> 0";
const SETTINGS: (&str, &str, &str) = ("settings", "name value", "");

/// Not compared: numbers that only order rows, how long something took or waited, who is still in the index of a line, and traces,
/// which are made of ids.
#[cfg(test)]
const LEFT_OUT: [&str; 7] = ["seq", "duration_us", "id", "joined", "waits", "runs", "trace"];

/// Not compared: only nodes that share a pool wait for each other.
#[cfg(test)]
const SHARED_ONLY: &str = "pool_waits";

/// Jitter is a hash of the step's id, and takes at most a tenth off waits of a second: to the next tenth of a second all are equal.
const JITTERED: &str =
    "case when reason = 'retrying' then (wake_at + 99999) / 100000 * 100000 else wake_at end";

pub fn all(sql: &dyn Sql, names: &mut Names) -> Result<String> {
    let mut out = String::new();
    for (table, columns, order) in TABLES.iter().chain([&SETTINGS]) {
        let columns: Vec<&str> = columns.split_whitespace().collect();
        let jittered = |c: &str| c == "wake_at" && *table != "workflows";
        let wanted: Vec<&str> = columns.iter().map(|c| if jittered(c) { JITTERED } else { *c }).collect();
        let order = if order.is_empty() { String::new() } else { format!(" order by {order}") };
        // How far the round of groups is, PostgreSQL keeps in a sequence; and it alone knows which database it is.
        let but = if *table == "settings" { " where name not in ('next_root', 'identity')" } else { "" };
        let text = match *table {
            "tallies" => TALLIES.into(),
            _ => format!("select {} from {table}{but}{order}", wanted.join(", ")),
        };
        let mut lines = sql.rows(&text, &[], |row| line(row, table, &columns, names))?;
        if order.is_empty() {
            // Each database sorts words in its own way.
            lines.sort();
        }
        lines.iter().for_each(|line| out.push_str(line));
    }
    Ok(out)
}

fn line(row: &dyn Cells, table: &str, columns: &[&str], names: &mut Names) -> Result<String> {
    let mut line = table.to_string();
    for (i, column) in columns.iter().enumerate() {
        let value = match row.cell(i)? {
            Cell::Null => continue,
            // PostgreSQL gives these in ranges, SQLite one after the other.
            Cell::Int(_) if is_number(table, column) => "some".into(),
            Cell::Int(n) => n.to_string(),
            Cell::Real(x) => format!("{x:?}"),
            Cell::Text(text) if *column == "phases" => phases(text),
            Cell::Text(text) => format!("{:?}", names.text(text)),
            // Over ids too, which two machines make differently.
            Cell::Blob(hash) if *column == "hash" && table.starts_with("audit") => {
                format!("{} bytes", hash.len())
            }
            Cell::Blob(bytes) => bytes.try_into().map_or(format!("{bytes:?}"), |id| names.of(id)),
        };
        write!(line, " {column}={value}").expect("a text takes text");
    }
    line.push('\n');
    Ok(line)
}

/// A running number of a tick or a claim.
fn is_number(table: &str, column: &str) -> bool {
    ["tick_id", "current_tick_id"].contains(&column) || column == "id" && ["ticks", "claims"].contains(&table)
}

/// Which phases moved how many rows.
fn phases(text: &str) -> String {
    let phases: Vec<(String, u64, u64)> = serde_json::from_str(text).unwrap_or_default();
    format!("{:?}", phases.into_iter().map(|(phase, rows, _)| (phase, rows)).collect::<Vec<_>>())
}

/// The ids of all steps and blocks, oldest first.
pub fn ids(sql: &dyn Sql, table: &str) -> Result<Vec<[u8; 16]>> {
    sql.rows(&format!("select id from {table} order by id"), &[], |row| row.get(0))
}

#[test]
fn every_table_and_every_column_is_compared() {
    let dir = tempfile::tempdir().unwrap();
    let database = store::Database::Sqlite(dir.path().join("columns.db"));
    let store = database.open(None, store::sqlite::Holder::default()).unwrap();
    let text =
        "select m.name, c.name from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'
                and m.name not like 'sqlite_%' and m.name not like '%migration%'";
    let columns: Vec<(String, String)> =
        store.reader().rows(text, &[], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert!(columns.len() > 100, "the schema was read");
    for (table, column) in columns.into_iter().filter(|(table, _)| table != SHARED_ONLY) {
        let listed = TABLES.iter().chain([&SETTINGS]).find(|(name, _, _)| *name == table);
        let (_, compared, _) = listed.unwrap_or_else(|| panic!("table {table} is not compared"));
        let known = compared.split_whitespace().any(|c| c == column) || LEFT_OUT.contains(&column.as_str());
        assert!(known, "{table}.{column} is not compared");
    }
}
