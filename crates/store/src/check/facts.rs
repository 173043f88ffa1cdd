//! What can be said of one row, or of two that belong together, by a condition alone.
//!
//! Why    every condition about steps is put to each row in one reading of the table.

use super::{Report, Scene};
use crate::sql::{Cell, Row};
use crate::{Result, params};
use model::{StepId, limits};

const HELD: &str = "(s.state in ('dispatched', 'running') and s.parked = 0)";
const ENDED: &str =
    "(s.state in ('completed', 'skipped', 'cancelled', 'failed', 'stopped', 'timed_out', 'superseded'))";
const SAME_PLACE: &str = "n.id = s.superseded_by and n.id > s.id and n.kind = s.kind \
    and (n.action = s.action or n.workflow_id = s.workflow_id and n.def = s.def and n.run > s.run) \
    and n.block_id is not distinct from s.block_id and n.block_index = s.block_index and n.step_key is not distinct from s.step_key";

/// Invariant, what is wrong, and the condition under which it is, on a row `s` of `steps`.
const OF_STEPS: [(&str, &str, &str); 23] = [
    ("I1", "it has a session but is not held", "s.session_id is not null and not {held}"),
    ("I1", "it is held by no session", "{held} and s.session_id is null"),
    ("I1", "it is held but was never claimed", "{held} and s.attempt = 0"),
    ("I13", "it failed more often than it may run", "s.failed_attempts > s.max_attempts"),
    ("I13", "it was lost more often than is allowed", "s.lost_attempts > {lost} + 1"),
    ("I13", "more attempts failed or were lost than were claimed", "s.failed_attempts + s.lost_attempts > s.attempt"),
    (
        "I16",
        "it is parked but does not run for a block or a workflow",
        "s.parked = 1 and (s.state <> 'running' or s.child_block_id is null
           and not exists (select 1 from workflows w where w.parent_step_id = s.id))",
    ),
    (
        "I17",
        "the block it owns does not exist, or has another owner",
        "s.child_block_id is not null
         and not exists (select 1 from blocks b where b.id = s.child_block_id and b.owner_id = s.id)",
    ),
    (
        "I17",
        "its dispatch group does not exist",
        "not {ended} and s.dispatch_group not in (select dispatch_group from dispatch_groups)",
    ),
    (
        "I18",
        "its state and its successor disagree",
        "s.state <> 'superseded' and s.superseded_by is not null
         or s.state = 'superseded' and s.superseded_by is null and (s.workflow_id is null
            or exists (select 1 from steps n where n.workflow_id = s.workflow_id and n.def = s.def and n.run > s.run
                          and n.block_id is null))",
    ),
    (
        "I18",
        "its successor does not exist, is older, or has another place",
        "s.superseded_by is not null and not exists (select 1 from steps n where {same})
         and not exists (select 1 from steps_archive n where {same})",
    ),
    (
        "I30",
        "it has a due time but does not wait",
        "s.wake_at is not null and s.state not in ('pending', 'polling', 'not_runnable')",
    ),
    ("I30", "it polls without a time to ask again", "s.state = 'polling' and s.wake_at is null"),
    ("I32", "it waits for its next poll and was never polled", "s.state = 'polling' and s.polls = 0"),
    ("I32", "it was polled, and it is not known since when", "(s.polls > 0) <> (s.poll_started_at is not null)"),
    ("I32", "it was polled more often than it ran, or than a step may be", "s.polls > s.attempt or s.polls > {polls}"),
    ("I30", "it is throttled but not pending", "s.throttled = 1 and s.state <> 'pending'"),
    (
        "I37",
        "a payload is larger than is allowed",
        "octet_length(s.arguments) > {payload} or octet_length(s.response) > {payload}
         or octet_length(s.error_message) > {payload} or octet_length(s.error_stack_trace) > {payload}
         or octet_length(s.note) > {payload}",
    ),
    (
        "I37",
        "a name is longer than is allowed",
        "octet_length(s.action) > {name} or octet_length(s.queue) > {name} or octet_length(s.dispatch_group) > {name}
         or octet_length(s.step_key) > {name} or octet_length(s.label) > {name}
         or octet_length(s.relatable_type) > {name} or octet_length(s.relatable_id) > {name}",
    ),
    ("I37", "its index or its attempts are out of range", "s.block_index > {index} or s.max_attempts > {attempts}"),
    ("I40", "it ended before it began", "s.completed_at < coalesce(s.started_at, s.created_at)"),
    ("I40", "it started before it was made or dispatched", "s.started_at < s.dispatched_at or s.dispatched_at < s.created_at"),
    (
        "I40",
        "its times do not fit its state",
        "(s.completed_at is not null) <> {ended} or (s.state = 'running' and s.started_at is null)",
    ),
];

/// Invariant, what it is about, what is wrong, and the rows for which it is.
const OF_OTHERS: [(&str, &str, &str, &str); 25] = [
    (
        "I13",
        "step",
        "its counters and its recorded attempts disagree",
        "select s.id from steps s left join
           (select step_id, sum(case when outcome in ('retried', 'exhausted', 'failed', 'stopped', 'timed_out') then 1 else 0 end) as failed,
                   sum(case when outcome in ('lease_lost', 'lost_too_often') then 1 else 0 end) as lost
              from step_attempts group by step_id) a
           on a.step_id = s.id
          where case when s.polls > 0
                     -- Every poll has all its attempts, so only those since the last one are counted.
                     then s.attempt <= {kept} and (s.failed_attempts > coalesce(a.failed, 0) or s.lost_attempts > coalesce(a.lost, 0))
                     when s.attempt <= {kept}
                     then s.failed_attempts <> coalesce(a.failed, 0) or s.lost_attempts <> coalesce(a.lost, 0)
                     else s.failed_attempts < coalesce(a.failed, 0) or s.lost_attempts < coalesce(a.lost, 0) end",
    ),
    (
        "I18",
        "step",
        "it took the place of more than one step",
        "select superseded_by from steps where superseded_by is not null group by 1 having count(*) > 1",
    ),
    (
        "I32",
        "step",
        "its polls on record are not the last of those it counts, one after the other",
        "select s.id from steps s left join
           (select step_id, count(*) as n, min(number) as first, max(number) as last from poll_attempts group by step_id) p
           on p.step_id = s.id
          where s.polls <> coalesce(p.last, 0) or coalesce(p.n, 0) <> coalesce(p.last - p.first + 1, 0)
             or coalesce(p.n, 0) > {polls_kept}",
    ),
    (
        "I32",
        "step",
        "a poll of it says both that it was the last and that there is another, or more than is kept",
        "select step_id from poll_attempts
          where result_complete + result_continue not in (0, 1) or octet_length(data) > {poll_record}",
    ),
    (
        "I38",
        "step",
        "polls of it are on record, but it is gone",
        "select step_id from (select distinct step_id from poll_attempts) a
          where not exists (select 1 from steps s where s.id = a.step_id)
            and not exists (select 1 from steps_archive s where s.id = a.step_id)",
    ),
    (
        "I33",
        "dispatch group",
        "it has an owner but never had an epoch",
        "select dispatch_group from dispatch_groups where owner_id is not null and epoch < 1",
    ),
    (
        "I33",
        "dispatch group",
        "its lease was renewed by a node that had ended, or that is not on record",
        "select g.dispatch_group from dispatch_groups g left join nodes n on n.id = g.owner_id
          where g.owner_id is not null and coalesce(g.lease_ends_at > n.ended_at + $1, n.id is null and g.lease_ends_at > $2)",
    ),
    (
        "I33",
        "tick",
        "it began before the tick before it was over",
        "select id from (select id, started_at, lag(completed_at) over (partition by dispatch_group order by id) as free_at
           from ticks) as t where started_at < free_at",
    ),
    (
        "I36",
        "step",
        "it has two open alerts for one reason",
        "select entity_id from alerts where closed_at is null group by entity, entity_id, reason having count(*) > 1",
    ),
    (
        "I36",
        "dispatch group",
        "it has an open alert but does not exist",
        "select entity_id from alerts where closed_at is null and entity = 'dispatch_group'
            and entity_id not in (select dispatch_group from dispatch_groups)",
    ),
    (
        "I36",
        "alert",
        "it is closed and nobody closed it, or it is open and somebody did",
        "select id from alerts where (closed_at is null) <> (closed_by is null)",
    ),
    (
        "I36",
        "alert",
        "it was closed before it was opened, or opened before its thing was stuck",
        "select id from alerts where closed_at < opened_at or updated_at < opened_at or since > opened_at",
    ),
    (
        "I36",
        "alert",
        "it is resolved by a remedy, but none was tried or it is open",
        "select id from alerts where auto_resolved <> 0 and (attempts = 0 or closed_at is null)",
    ),
    (
        "I36",
        "alert",
        "remedies were tried and nobody knows when, or the other way round",
        "select id from alerts where (attempts = 0) <> (last_remedy_at is null)",
    ),
    (
        "I36",
        "alert",
        "it says when somebody looked at it or who, but not both",
        "select id from alerts where (acknowledged_at is null) <> (acknowledged_by is null)
             or (reviewed_at is null) <> (reviewed_by is null)",
    ),
    (
        "I36",
        "alert",
        "its severity or remedy is no known word",
        "select id from alerts where severity not in ('low', 'medium', 'high', 'critical')
             or remedy not in ('retry', 'cancel', 'escalate', 'notify')",
    ),
    (
        "I36",
        "stuck rule",
        "an action is asked for it, but it is not on record",
        "select rule from stuck_asks where rule not in (select name from stuck_rules)",
    ),
    (
        "I38",
        "step",
        "attempts of it are on record, but it is gone",
        "select step_id from (select distinct step_id from step_attempts) a
          where not exists (select 1 from steps s where s.id = a.step_id)
            and not exists (select 1 from steps_archive s where s.id = a.step_id)",
    ),
    (
        "I38",
        "step",
        "it is in the archive and among the live",
        "select s.id from steps_archive a join steps s on s.id = a.id",
    ),
    (
        "I38",
        "step",
        "it was archived before it had settled",
        "select id from steps_archive s where not {ended} and state <> 'not_runnable'",
    ),
    (
        "I38",
        "step",
        "it was archived without its block",
        "select id from steps_archive where block_id is not null and block_id not in (select id from blocks_archive)",
    ),
    (
        "I38",
        "step",
        "it was archived without the block it owns",
        "select id from steps_archive
          where child_block_id is not null and child_block_id not in (select id from blocks_archive)",
    ),
    (
        "I38",
        "block",
        "it was archived without its owner",
        "select id from blocks_archive b
          where owner_id is not null and not exists (select 1 from steps_archive s where s.id = b.owner_id)",
    ),
    ("I38", "block", "it was archived while it moved", "select id from blocks_archive where touched = 1 or sweep_kind is not null"),
    (
        "I37",
        "block",
        "it is nested deeper than is allowed",
        "select id from blocks where depth > {nesting} union all select id from blocks where depth < 1",
    ),
];

fn filled(sql: &str) -> String {
    sql.replace("{held}", HELD)
        .replace("{ended}", ENDED)
        .replace("{same}", SAME_PLACE)
        .replace("{lost}", &limits::LOST_ATTEMPTS_MAX.to_string())
        .replace("{payload}", &limits::PAYLOAD_BYTES_MAX.to_string())
        .replace("{name}", &limits::NAME_BYTES_MAX.to_string())
        .replace("{index}", &limits::INDEX_MAX.to_string())
        .replace("{kept}", &limits::ATTEMPTS_KEPT.to_string())
        .replace("{polls}", &limits::POLLS_MAX.to_string())
        .replace("{polls_kept}", &limits::POLLS_KEPT_MAX.to_string())
        .replace("{poll_record}", &limits::POLL_RECORD_BYTES_MAX.to_string())
        .replace("{attempts}", &limits::ATTEMPTS_MAX.to_string())
        .replace("{nesting}", &limits::NESTING_MAX.to_string())
}

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    let conditions: Vec<String> =
        OF_STEPS.iter().map(|(_, _, wrong)| format!("({})", filled(wrong))).collect();
    let sql =
        format!("select s.id, {} from steps s where {}", conditions.join(", "), conditions.join(" or "));
    scene.each(&sql, |row| {
        for (i, (invariant, problem, _)) in OF_STEPS.iter().enumerate() {
            if row.get::<Option<bool>>(i + 1)? == Some(true) {
                report.add(invariant, format!("step {}", name(row)?), problem);
            }
        }
        Ok(())
    })?;
    let lease = i64::try_from(limits::GROUP_LEASE.as_micros()).unwrap_or(i64::MAX);
    for (invariant, entity, problem, sql) in OF_OTHERS {
        let params = if sql.contains("$1") { params![lease, scene.now] } else { params![] };
        scene.sql().each(&filled(sql), params, &mut |row| {
            report.add(invariant, format!("{entity} {}", name(row)?), problem);
            Ok(())
        })?;
    }
    alerts(scene, report)
}

/// An open alert on a step speaks of one that is there.
fn alerts(scene: &Scene, report: &mut Report) -> Result<()> {
    let open = "select entity_id from alerts where closed_at is null and entity = 'step' order by id";
    for told in scene.sql().rows(open, params![], |row| row.get::<String>(0))? {
        let is_there = match told.parse::<StepId>() {
            Ok(id) => {
                let text = "select 1 from steps s where s.id = $1";
                scene.sql().first(text, params![id], |_| Ok(()))?.is_some()
            }
            Err(_) => false,
        };
        if !is_there {
            report.add("I36", format!("step {told}"), "it has an open alert but is gone");
        }
    }
    Ok(())
}

/// The first column as people write it.
fn name(row: &Row) -> Result<String> {
    Ok(match row.cell(0)? {
        Cell::Blob(bytes) => match <[u8; 16]>::try_from(bytes) {
            Ok(id) => StepId::from_bytes(id).to_string(),
            Err(_) => bytes.iter().map(|b| format!("{b:02x}")).collect(),
        },
        Cell::Text(text) => text.into(),
        Cell::Int(n) => n.to_string(),
        other => format!("{other:?}"),
    })
}
