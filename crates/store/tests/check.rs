//! Each invariant with its planted violation: `check` must name it, and must be silent about healthy rows.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

#[path = "world/healthy.rs"]
mod healthy;
mod world;

use healthy::healthy;
use std::collections::BTreeSet;
use std::time::Duration;
use stepfast_store::{Checkable, Finding, INVARIANTS};
use world::{World, complete, step};

#[test]
fn healthy_rows_are_clean() {
    let world = healthy(true);
    world.assert_clean();
    let checked = world.check(true);
    assert_eq!(checked.looked_at.len() + checked.left_out.len(), INVARIANTS.len());
    assert!(checked.looked_at.iter().all(|(_, _, partly)| partly.is_none()));
}

#[test]
fn without_history_it_says_what_cannot_be_checked() {
    let world = healthy(false);
    world.assert_clean();
    let unchecked: Vec<&str> = world
        .check(true)
        .left_out
        .iter()
        .filter(|(_, _, why)| why.contains("history level"))
        .map(|l| l.0)
        .collect();
    assert_eq!(unchecked, ["I2", "I3", "I4", "I5"]);
}

#[test]
fn a_history_that_was_switched_off_is_not_held_against_the_rows() {
    let mut world = healthy(true);
    world.forget_history();
    world.create(vec![step("quiet")]);
    world.run("quiet", complete());
    world.assert_clean();
    assert!(world.check(true).left_out.iter().any(|(id, _, _)| *id == "I5"));
}

#[test]
fn every_invariant_that_can_be_checked_has_a_planted_violation() {
    let planted: BTreeSet<&str> = PLANTED.iter().map(|(id, _)| *id).chain(["S4"]).collect();
    let bare: Vec<&str> = INVARIANTS
        .iter()
        .filter(|(id, _, when)| !matches!(when, Checkable::NotYet(_)) && !planted.contains(id))
        .map(|(id, _, _)| *id)
        .collect();
    assert_eq!(bare, [] as [&str; 0]);
}

#[test]
fn the_document_has_every_invariant_and_every_planted_violation() {
    let document = include_str!("../../../docs/invariants.md");
    let row =
        |id: &str| document.lines().find(|line| line.starts_with(&format!("| {id} |"))).unwrap_or_default();
    for (id, title, _) in INVARIANTS {
        assert!(row(id).to_lowercase().contains(title), "{id} {title}");
    }
    for (id, name) in PLANTED {
        assert!(row(id).contains(&format!("`{name}`")), "{id} {name}");
    }
}

#[test]
fn findings_are_capped_for_each_invariant() {
    let world = healthy(false);
    let many = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 150)";
    world.sql(&format!(
        "{many} insert into claims select 1000 + i, x'01', 1, 1, 0, 'nonsense', 'alpha' from n"
    ));
    let findings = world.check(true).findings;
    assert_eq!(findings.iter().filter(|f| f.invariant == "S3").count(), 100);
}

fn told(findings: &[Finding], invariant: &str) -> bool {
    findings.iter().any(|f| f.invariant == invariant)
}

fn reported(invariant: &str, sql: &str) {
    let world = healthy(true);
    world.sql(sql);
    let findings = world.check(false).findings;
    assert!(told(&findings, invariant), "{invariant} was planted and not found; found {findings:#?}");
}

macro_rules! planted {
    ($($name:ident: $invariant:literal, $sql:literal;)+) => {
        /// What the tests below plant.
        const PLANTED: &[(&str, &str)] = &[$(($invariant, stringify!($name))),+];
        $(#[test]
        fn $name() {
            reported($invariant, $sql);
        })+
    };
}

planted! {
    i6_a_workflow_that_nothing_moves: "I6",
        "update steps set state = 'skipped', reason = 'operator', completed_at = created_at where id = {flow-now}";
    i6_held_in_a_workflow_that_goes_on: "I6", "update steps set reason = 'workflow_held' where id = {flow-now}";
    i6_a_workflow_that_nobody_begins: "I6",
        "update workflows set state = 'pending', created_at = 1 where id = x'000000000000000000000000000000f2'";
    i23_over_and_not_its_step: "I23",
        "update workflows set state = 'cancelled' where id = x'000000000000000000000000000000f2'";
    i23_over_and_not_what_it_started: "I23",
        "update workflows set parent_step_id = {flow-end} where id = x'000000000000000000000000000000f2'";
    i24_succeeded_without_a_step: "I24", "update steps set workflow_id = null where id = {flow-end}";
    i6_undone_and_nothing_goes_on: "I6",
        "update steps set workflow_id = null where id = {flow-now}; update workflows set state = 'compensating', wake_at = null where id = x'000000000000000000000000000000f2'";
    i6_retried_and_nobody_looks: "I6",
        "update workflows set state = 'failed', auto_retry_at = 1, wake_at = null where id = x'000000000000000000000000000000f2'";
    i20_undone_by_nobody: "I20",
        "insert into compensation_runs (workflow_id, compensation, position, step_key, undoes, action, state, step_id, items_done, items_skipped) values (x'000000000000000000000000000000f2', 1, 0, 'flow-end', {flow-end}, 'undo', 'succeeded', null, 0, 0)";
    i20_compensated_and_not_all_undone: "I20",
        "insert into compensation_runs (workflow_id, compensation, position, step_key, undoes, action, state, step_id, items_done, items_skipped) values (x'000000000000000000000000000000f2', 1, 0, 'flow-end', {flow-end}, 'undo', 'failed', null, 0, 0);
         update workflows set state = 'compensated', compensations = 1 where id = x'000000000000000000000000000000f2'";
    i21_two_undone_at_once: "I21",
        "insert into compensation_runs (workflow_id, compensation, position, step_key, undoes, action, state, step_id, items_done, items_skipped) values (x'000000000000000000000000000000f2', 1, 0, 'flow-end', {flow-end}, 'undo', 'running', null, 0, 0);
         insert into compensation_runs (workflow_id, compensation, position, step_key, undoes, action, state, step_id, items_done, items_skipped) values (x'000000000000000000000000000000f2', 1, 1, 'flow-route', {flow-route}, 'undo', 'running', null, 0, 0)";
    i21_undone_in_the_wrong_order: "I21",
        "insert into compensation_runs (workflow_id, compensation, position, step_key, undoes, action, state, step_id, items_done, items_skipped) values (x'000000000000000000000000000000f2', 1, 0, 'flow-route', {flow-route}, 'undo', 'pending', null, 0, 0);
         insert into compensation_runs (workflow_id, compensation, position, step_key, undoes, action, state, step_id, items_done, items_skipped) values (x'000000000000000000000000000000f2', 1, 1, 'flow-end', {flow-end}, 'undo', 'pending', null, 0, 0);
         update steps set completed_at = completed_at - 1 where id = {flow-route}";
    i22_a_step_began_while_others_are_undone: "I22",
        "update workflows set state = 'compensating', compensation_started_at = 1 where id = x'000000000000000000000000000000f2'";
    i26_tried_again_too_often: "I26", "update workflows set auto_retries = 4 where id = x'000000000000000000000000000000f2'";
    i27_undone_and_nobody_decided: "I27", "update workflows set compensation_started_at = 1 where id = x'000000000000000000000000000000f2'";
    i25_a_branch_without_a_decision: "I25",
        "update steps set action = 'stepfast.branch' where id = {flow-route}; delete from branch_decisions";
    i31_a_pause_of_what_is_over: "I31",
        "update pauses set state = 'waiting', ended_at = null where workflow_id = x'000000000000000000000000000000f1'";
    i31_a_pause_behind_what_has_not_ended: "I31", "update pauses set step_id = {flow-now} where state = 'waiting'";
    i31_a_trigger_that_nothing_waits_for: "I31",
        "update pauses set state = 'cancelled', ended_at = 3 where state = 'waiting'";
    i31_two_wait_for_one_trigger: "I31",
        "drop index pauses_of_trigger;
         insert into pauses (workflow_id, def, run, step_id, step_key, kind, trigger_key, registered_at, state)
           select workflow_id, 7, run, step_id, step_key, kind, trigger_key, 1, 'waiting' from pauses where state = 'waiting'";
    i31_went_on_with_nothing: "I31", "delete from trigger_payloads";
    i31_accepted_for_nobody: "I31", "update pauses set consumed = 7 where state = 'resumed'";
    i35_a_definition_that_changed: "I35", "update definitions set hash = 'other'";
    i35_a_definition_that_is_gone: "I35", "delete from definitions";
    s5_a_definition_that_cannot_be_read: "S5", "update definitions set text = 'nonsense'";
    i1_a_step_that_ended_has_a_session: "I1",
        "update steps set session_id = x'00000000000000000000000000000001' where id = {done}";
    i1_held_by_nobody: "I1", "update steps set session_id = null where id = {held}";
    i1_held_and_never_claimed: "I1", "update steps set attempt = 0 where id = {held}";
    i1_claimed_twice_in_the_log: "I1",
        "insert into claims select 99, session_id, tick_id, claimed_at, parked, pairs, dispatch_group from claims";
    i1_claimed_in_the_log_and_ended_in_the_row: "I1",
        "update steps set state = 'skipped', completed_at = created_at where id = {logged}";
    i1_held_by_the_row_and_by_another_in_the_log: "I1",
        "insert into claims values (99, x'00000000000000000000000000000002', 1, 1, 0, json_array(lower(hex({held})) || ':1'), 'alpha')";
    i1_waits_twice_in_the_log: "I1",
        "insert into claims select 99, session_id, tick_id, claimed_at, 1, pairs, dispatch_group from claims where id = (select max(id) from claims);
         insert into claims select 100, session_id, tick_id, claimed_at, 1, pairs, dispatch_group from claims where id = 99";
    i1_waits_in_the_log_and_held_by_its_row: "I1",
        "insert into claims values (99, x'00000000000000000000000000000001', 1, 1, 1, json_array(lower(hex({held})) || ':1'), 'alpha')";
    i1_an_attempt_was_dispatched_out_of_turn: "I1",
        "update events set attempt = 5 where entity_id = {done} and event = 'dispatched'";
    i2_an_old_attempt_ended_the_step: "I2",
        "update events set attempt = 9 where entity_id = {done} and from_state = 'running'";
    i3_an_end_was_left: "I3",
        "insert into events (at, entity, entity_id, from_state, event, to_state, attempt)
         select at, 'step', entity_id, 'completed', 'started', 'running', 1 from events where entity_id = {done}";
    i4_a_move_that_does_not_exist: "I4",
        "update events set to_state = 'skipped' where entity_id = {done} and event = 'completed'";
    i4_made_in_the_middle: "I4", "update events set to_state = 'running' where entity_id = {ready}";
    i5_the_row_is_not_where_the_history_ends: "I5", "update steps set state = 'skipped' where id = {done}";
    i5_a_move_is_missing: "I5", "delete from events where entity_id = {done} and event = 'started'";
    i5_the_history_is_missing: "I5", "delete from events where entity_id = {done}";
    i5_the_attempt_is_not_that_of_the_history: "I5", "update steps set attempt = 7 where id = {done}";
    i6_a_step_sleeps_that_is_no_resolver: "I6", "update steps set state = 'not_runnable' where id = {ready}";
    i6_a_step_waits_for_what_comes_later: "I6",
        "update blocks set current_index = 2, live = '0,1' where id = {block of family};
         update steps set state = 'pending', session_id = null, started_at = null, dispatched_at = null where id = {second}";
    i6_a_failure_wakes_no_resolver: "I6", "update blocks set wants_resolvers = 1 where id = {block of family}";
    i7_the_holder_is_over: "I7", "update sessions set ended_at = 1";
    i7_the_holder_let_its_lease_run_out: "I7", "update sessions set lease_ends_at = lease_ends_at - 100000000";
    i7_the_holder_is_not_on_record: "I7", "delete from sessions";
    i12_done_without_an_answer: "I12", "update executions set answer = null where key = 'done'";
    i12_done_and_still_leased: "I12", "update executions set lease_ends_at = 1 where key = 'done'";
    i12_a_state_of_nobody: "I12", "update executions set state = 'perhaps' where key = 'done'";
    i12_failed_more_often_than_begun: "I12", "update executions set failed_attempts = 2 where key = 'failed'";
    i12_failed_and_never_failed: "I12", "update executions set failed_attempts = 0 where key = 'failed'";
    i12_an_input_hash_that_is_none: "I12", "update executions set input_hash = x'00' where key = 'open'";
    i12_ended_by_another_owner: "I12", "update executions set owner = x'07' where key = 'done'";
    i12_a_beginning_is_not_on_record: "I12", "delete from execution_events where key = 'taken' and event = 'begun'";
    i12_an_end_is_not_on_record: "I12", "delete from execution_events where key = 'failed' and event = 'failed'";
    i12_done_twice: "I12",
        "insert into execution_events select namespace, key, attempt, 'done', at, owner, null from execution_events
          where key = 'again' and attempt = 1 and event = 'begun'";
    i12_a_lease_without_end: "I12", "update executions set lease_ends_at = 9000000000000000 where key = 'open'";
    i13_failed_more_often_than_allowed: "I13", "update steps set failed_attempts = 3 where id = {broken}";
    i13_lost_more_often_than_allowed: "I13", "update steps set lost_attempts = 7, attempt = 9 where id = {lost}";
    i13_failed_without_a_claim: "I13", "update steps set attempt = 1 where id = {broken}";
    i13_an_attempt_is_not_on_record: "I13", "delete from step_attempts where step_id = {broken}";
    i14_completed_over_a_failed_child: "I14", "update steps set state = 'failed' where id = {ship}";
    i14_completed_over_a_child_failed_by_hand: "I14",
        "update steps set state = 'failed', reason = 'operator',
         completed_at = (select completed_at from steps where id = {order}) where id = {ship}";
    i14_best_effort_over_nothing_but_failures: "I14", "update steps set state = 'failed' where id = {best-two}";
    i15_a_child_outlives_its_parent: "I15",
        "update steps set state = 'pending', completed_at = null where id = {ship}";
    i15_a_resolver_sleeps_under_a_cancelled_parent: "I15",
        "update steps set state = 'not_runnable', completed_at = null where id = {off-undo}";
    i16_a_parent_waits_for_nothing: "I16",
        "update steps set state = 'skipped', completed_at = created_at, session_id = null where id in ({second}, {third})";
    i16_parked_without_children: "I16", "update steps set parked = 1 where id = {ready}";
    i16_a_child_runs_before_its_parent_returned: "I16",
        "update steps set state = 'running', attempt = 1, session_id = x'00000000000000000000000000000001',
         started_at = created_at where id = {unborn}";
    i16_a_block_is_open_before_its_parent_returned: "I16",
        "update blocks set current_index = 1 where id = {block of young}";
    i17_a_block_is_gone: "I17", "delete from blocks where id = {block of family}";
    i17_an_owner_is_gone: "I17", "delete from steps where id = {family}";
    i17_a_block_has_another_owner: "I17", "update blocks set owner_id = {done} where id = {block of family}";
    i17_a_block_lies_about_its_depth: "I17", "update blocks set depth = 7 where id = {block of pack}";
    i17_a_child_is_of_another_group: "I17",
        "update steps set dispatch_group = case dispatch_group when 'alpha' then 'beta' else 'alpha' end where id = {third}";
    i17_a_block_is_of_another_group_than_its_owner: "I17",
        "update steps set dispatch_group = case dispatch_group when 'alpha' then 'beta' else 'alpha' end where id = {order}";
    i17_a_live_step_is_of_no_group: "I17", "update steps set dispatch_group = 'omega' where id = {ready}";
    i18_superseded_by_nothing: "I18", "update steps set superseded_by = null where id = {retried}";
    i18_superseded_by_an_older_step: "I18", "update steps set superseded_by = {old} where id = {retried}";
    i18_superseded_by_another_kind_of_step: "I18", "update steps set action = 'other' where id = {retried-again}";
    i18_a_step_takes_two_places: "I18",
        "update steps set state = 'superseded', superseded_by = {retried-again} where id = {broken}";
    i28_dispatched_while_the_breaker_was_off: "I28",
        "update steps set dispatched_at = (select at + 1 from audit where verb = 'breaker off'),
         started_at = (select at + 1 from audit where verb = 'breaker off') where id = {held}";
    i28_an_earlier_attempt_was_dispatched_while_the_breaker_was_off: "I28",
        "update events set at = (select at + 1 from audit where verb = 'breaker off')
          where entity_id = {broken} and event = 'dispatched'";
    i30_due_but_ended: "I30", "update steps set wake_at = 1 where id = {done}";
    i30_throttled_but_running: "I30", "update steps set throttled = 1 where id = {held}";
    i30_polls_without_a_time: "I30", "update steps set state = 'polling' where id = {ready}";
    i32_waits_for_a_poll_and_was_never_polled: "I32", "update steps set state = 'polling', wake_at = 1 where id = {ready}";
    i32_a_poll_is_not_on_record: "I32", "update steps set polls = 1, poll_started_at = 1 where id = {done}";
    i32_polled_more_often_than_it_ran: "I32",
        "update steps set polls = 9, poll_started_at = 1 where id = {done};
         insert into poll_attempts values ({done}, 9, 1, 1, 0, null, 1, null)";
    i32_polled_since_nobody_knows_when: "I32",
        "update steps set polls = 1 where id = {done};
         insert into poll_attempts values ({done}, 1, 1, 1, 0, null, 1, null)";
    i32_a_poll_between_two_is_missing: "I32",
        "update steps set polls = 3, poll_started_at = 1, attempt = 3 where id = {done};
         insert into poll_attempts values ({done}, 1, 1, 0, 1, null, 1, null), ({done}, 3, 3, 1, 0, null, 1, null)";
    i32_the_last_and_not_the_last: "I32",
        "update steps set polls = 1, poll_started_at = 1 where id = {done};
         insert into poll_attempts values ({done}, 1, 1, 1, 1, null, 1, null)";
    i32_a_poll_says_more_than_is_kept: "I32",
        "update steps set polls = 1, poll_started_at = 1 where id = {done};
         insert into poll_attempts values ({done}, 1, 1, 1, 0, null, 1, printf('%.*c', 4097, 'x'))";
    i33_an_owner_without_an_epoch: "I33", "update dispatch_groups set epoch = 0";
    i33_a_lease_renewed_by_a_dead_node: "I33", "update nodes set ended_at = 1";
    i33_a_lease_of_an_unknown_node: "I33", "delete from nodes";
    i33_ticks_overlap: "I33", "update ticks set completed_at = completed_at + 1000000 where id = 1";
    i36_an_alert_of_a_node_on_a_step_that_is_gone: "I36",
        "insert into alerts (entity, entity_id, reason, severity, message, opened_at, updated_at)
         values ('step', '00000000-0000-7000-8000-000000000002', 'odd', 'medium', '', 1, 1)";
    i36_an_alert_of_a_rule_on_a_step_that_is_gone: "I36",
        "insert into alerts (entity, entity_id, reason, severity, message, opened_at, updated_at, rule)
         values ('step', '00000000-0000-7000-8000-000000000001', 'odd', 'medium', '', 1, 1, 'step-waiting')";
    i36_an_alert_that_nobody_closed: "I36", "update alerts set closed_by = null where closed_at is not null";
    i36_an_open_alert_that_somebody_closed: "I36", "update alerts set closed_by = 'anna' where closed_at is null";
    i36_an_alert_closed_before_it_was_opened: "I36", "update alerts set closed_at = opened_at - 1 where closed_at is not null";
    i36_an_alert_older_than_its_cause: "I36", "update alerts set since = opened_at + 1";
    i36_an_alert_resolved_by_no_remedy: "I36", "update alerts set auto_resolved = 1";
    i36_remedies_without_a_time: "I36", "update alerts set attempts = 1";
    i36_acknowledged_by_nobody: "I36", "update alerts set acknowledged_at = 1";
    i36_reviewed_at_no_time: "I36", "update alerts set reviewed_by = 'anna'";
    i36_a_severity_that_is_no_word: "I36", "update alerts set severity = 'warning'";
    i36_an_ask_of_no_rule: "I36", "insert into stuck_asks (rule, step_id, asked_at) values ('gone', zeroblob(16), 1)";
    i36_two_open_alerts_for_one_reason: "I36",
        "drop index alerts_open;
         insert into alerts (entity, entity_id, reason, severity, message, opened_at, updated_at)
         select entity, entity_id, reason, severity, message, opened_at, updated_at from alerts where closed_at is null";
    i36_an_alert_on_no_group: "I36", "update alerts set entity_id = 'omega' where entity = 'dispatch_group'";
    i37_a_payload_is_too_large: "I37",
        "update steps set response = printf('%.*c', 1048577, 'x') where id = {done}";
    i37_a_name_is_too_long: "I37", "update steps set label = printf('%.*c', 256, 'x') where id = {done}";
    i37_too_many_attempts_asked_for: "I37", "update steps set max_attempts = 1001 where id = {done}";
    i37_a_block_is_too_deep: "I37", "update blocks set depth = 65 where id = {block of pack}";
    i37_an_answer_is_too_large: "I37", "update executions set answer = printf('%.*c', 1048577, 'x') where key = 'done'";
    i37_a_key_is_too_long: "I37",
        "pragma foreign_keys = off; update executions set key = printf('%.*c', 256, 'x') where key = 'done'";
    i38_attempts_of_a_step_that_is_gone: "I38", "update step_attempts set step_id = zeroblob(16) where step_id = {broken}";
    i38_polls_of_a_step_that_is_gone: "I38", "insert into poll_attempts values (zeroblob(16), 1, 1, 1, 0, null, 1, null)";
    i38_history_of_a_step_that_is_gone: "I38", "update events set entity_id = zeroblob(16) where entity_id = {done}";
    i38_archived_and_live: "I38", "insert into steps_archive select * from steps where id = {done}";
    i38_archived_before_it_settled: "I38", "update steps_archive set state = 'pending' where id = {old}";
    i38_archived_without_its_block: "I38", "delete from blocks_archive where owner_id is null";
    i38_archived_without_the_block_it_owns: "I38", "delete from blocks_archive where owner_id = {old-order}";
    i8_two_of_a_group_in_flight: "I8",
        "update steps set message_group = 'g', mode = 'next_on_error', sequence = 99, place = id, joined = 1
          where id in ({held}, {logged})";
    i9_another_should_have_gone_first: "I9",
        "update steps set message_group = 'g', mode = 'next_on_error', sequence = 99, place = id, joined = 1
          where id in ({held}, {ready})";
    i9_one_that_was_claimed_lost_its_place: "I9",
        "update steps set message_group = 'g', mode = 'next_on_error', sequence = 1, place = id, joined = 1 where id = {held};
         update steps set message_group = 'g', mode = 'next_on_error', sequence = 9, place = id, joined = 2 where id = {waits}";
    i9_it_lives_where_its_group_does_not: "I9",
        "update steps set message_group = 'g', mode = 'next_on_error', sequence = 99, place = id, joined = 1,
                dispatch_group = case id when {ready} then 'alpha' else 'beta' end where id in ({ready}, {waits})";
    i10_what_blocks_has_not_failed: "I10", "insert into message_groups values ('g', {done}, 'alpha', 1, null, null)";
    i10_what_failed_does_not_block: "I10",
        "update steps set message_group = 'g', mode = 'block_on_error', sequence = 99, place = id where id = {broken}";
    i10_started_although_its_group_was_blocked: "I10",
        "update steps set message_group = 'g', mode = 'block_on_error', sequence = 99, place = id where id in ({broken}, {held});
         insert into message_groups values ('g', {broken}, 'alpha', 1, null, null)";
    i11_to_be_published_and_not_queued: "I11",
        "insert into outbox (step_id, attempt, dispatch_group, at) values ({done}, 1, 'alpha', 1)";
    i11_to_be_published_for_another_attempt: "I11",
        "insert into outbox (step_id, attempt, dispatch_group, at) values ({held}, 9, 'alpha', 1)";
    i11_to_be_published_for_nobody: "I11",
        "insert into outbox (step_id, attempt, dispatch_group, at) values (x'01020304050607080910111213141516', 1, 'alpha', 1)";
    i11_it_runs_in_the_queue: "I11", "update steps set session_id = zeroblob(16) where id = {held}";
    i34_a_slot_that_no_step_has: "I34",
        "insert into pool_slots (step_id, pool, dispatch_group, at) values ({done}, 'card', 'alpha', 1)";
    i34_held_without_a_slot: "I34", "update steps set pool = 'card' where id = {held}";
    i34_claimed_without_a_slot: "I34", "update steps set pool = 'card' where id = {logged}";
    i38_archived_without_its_owner: "I38", "delete from steps_archive where id = {old-order}";
    i38_archived_while_it_moved: "I38", "update blocks_archive set touched = 1";
    i38_history_of_an_execution_that_is_gone: "I38",
        "pragma foreign_keys = off; delete from executions where key = 'done'";
    i39_what_is_kept_is_no_answer: "I39", "update executions set answer = '{}' where key = 'k1'";
    i40_ended_before_it_started: "I40", "update steps set completed_at = started_at - 1 where id = {done}";
    i40_dispatched_before_it_was_made: "I40", "update steps set dispatched_at = 1 where id = {done}";
    i40_ended_without_a_time: "I40", "update steps set completed_at = null where id = {done}";
    i40_history_runs_backwards: "I40", "update events set at = 1 where entity_id = {done} and event = 'completed'";
    s1_a_count_is_wrong: "S1", "update blocks set steps = '0,9' where id = {block of family}";
    s1_a_resolver_is_not_counted: "S1", "update blocks set resolvers = '' where id = {block of family}";
    s1_a_live_count_is_wrong: "S1", "update blocks set live = '4,1' where id = {block of family}";
    s1_an_index_is_missing: "S1", "update blocks set live = '1' where id = {block of family}";
    s1_an_open_block_is_marked_closed: "S1", "update blocks set is_open = 0 where id = {block of family}";
    s1_a_closed_block_is_marked_open: "S1", "update blocks set is_open = 1 where id = {block of best}";
    s1_a_step_runs_before_its_index: "S1",
        "update steps set state = 'running', attempt = 1, session_id = x'00000000000000000000000000000001',
         started_at = created_at where id = {third}";
    s1_a_step_is_left_behind: "S1", "update blocks set current_index = 2 where id = {block of family}";
    s1_an_index_that_no_step_has: "S1", "update blocks set current_index = 9 where id = {block of order}";
    s2_a_tally_is_wrong: "S2", "update tallies set n = n + 1 where state = 'completed'";
    s2_a_tally_is_missing: "S2", "delete from tallies where state = 'running'";
    s2_a_workflow_that_is_not_counted: "S2", "delete from tallies where queue = '' and state = 'paused'";
    s2_a_workflow_that_is_counted_and_over: "S2", "update tallies set n = n + 1 where queue = '' and state = 'running'";
    s3_a_claim_of_no_step: "S3",
        "insert into claims select 99, session_id, 1, 1, 0, '[\"00000000000000000000000000ffffff:1\"]', 'alpha' from claims";
    s3_a_claim_that_cannot_be_read: "S3", "update claims set pairs = '[7]'";
    s3_a_claim_of_no_session: "S3", "update claims set session_id = zeroblob(16)";
    f1_a_state_of_nobody: "F1",
        "update flows set state = 'perhaps' where type = 'half'";
    f1_over_and_not_finished: "F1",
        "update flows set finished_at = null where type = 'whole'";
    f1_finished_and_not_over: "F1",
        "update flows set finished_at = updated_at where type = 'half'";
    f1_failed_and_nothing_says_how: "F1",
        "update flows set error = null where type = 'broken'";
    f1_given_up_and_not_failed: "F1",
        "update flows set given_up_at = updated_at where type = 'half'";
    f1_two_runs_that_are_not_over: "F1",
        "drop index flows_live; update flows set state = 'pending', finished_at = null where type = 'twice'; update flow_events set state = 'pending' where state = 'superseded'";
    f1_goes_on_though_a_step_failed: "F1",
        "update flows set state = 'running', error = null where type = 'broken'; update flow_events set state = 'running' where state = 'failed'";
    f1_completed_and_a_step_is_not: "F1",
        "update flow_steps set state = 'pending', at = null where name = 'debited' and flow_id = (select id from flows where type = 'whole')";
    f1_every_step_is_over_and_the_flow_is_not: "F1",
        "update flow_steps set state = 'completed', at = 9000000000 where flow_id = (select id from flows where type = 'half')";
    f1_a_step_in_no_state: "F1",
        "update flow_steps set state = 'perhaps' where name = 'mailed' and flow_id = (select id from flows where type = 'half')";
    f1_a_step_that_ended_at_no_time: "F1",
        "update flow_steps set at = null where name = 'debited' and flow_id = (select id from flows where type = 'half')";
    f1_done_and_not_when: "F1",
        "update flows set progressed_at = null where type = 'half'";
    f1_the_history_says_otherwise: "F1",
        "update flow_events set state = 'failed' where flow_id = (select id from flows where type = 'half')";
    f1_a_write_that_nobody_told: "F1",
        "update flows set version = version + 1 where type = 'half'";
    f1_the_history_goes_on_behind_it: "F1",
        "insert into flow_events select flow_id, number + 1, at, event, step, state, said_by, message from flow_events where number = 2 and flow_id = (select id from flows where type = 'half')";
    f1_something_happened_before_it_was_started: "F1",
        "update flows set updated_at = started_at - 1 where type = 'begun'";
    i37_a_flow_says_too_much: "I37",
        "update flows set message = printf('%.*c', 4097, 'x') where type = 'half'";
    i37_a_flow_of_too_many_steps: "I37",
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 201) insert into flow_steps select f.id, 's' || i, 9 + i, 0, 'pending', null, null from flows f, n where f.type = 'half'";
    i38_steps_of_a_flow_that_is_gone: "I38",
        "pragma foreign_keys = off; delete from flows where type = 'begun'; delete from flow_events where flow_id not in (select id from flows)";
    i38_a_history_of_a_flow_that_is_gone: "I38",
        "pragma foreign_keys = off; delete from flows where type = 'begun'; delete from flow_steps where flow_id not in (select id from flows)";
    s7_told_by_a_step_that_is_gone: "S7",
        "insert into notices values ('ops', 'k', 1, zeroblob(16), 'step.failed', 'medium', 'step', 'x', 't')";
    s7_told_by_a_step_that_delivers_nothing: "S7",
        "insert into notices select 'ops', 'k', 1, id, 'step.failed', 'medium', 'step', 'x', 't' from steps where id = {done}";
    s8_a_byte_of_the_audit: "S8", "drop trigger audit_update; update audit set who = 'oq' where id = 1";
    s8_the_last_row_of_the_audit: "S8", "drop trigger audit_delete; delete from audit where id = 2";
    s6_a_signal_that_nobody_deals_with: "S6", "insert into signals (id, dispatch_group, body, at) values (zeroblob(16), 'alpha', '{}', 1);
         update dispatch_groups set owned_since = 1, lease_ends_at = 9000000000000000";
    s5_a_reason_of_nobody: "S5", "update steps set reason = 'because' where id = {ready}";
    s5_a_block_that_cannot_be_read: "S5", "update blocks set success = 'perhaps' where id = {block of order}";
    s5_a_word_of_nobody_in_the_history: "S5", "update events set event = 'flew' where entity_id = {done} and event = 'started'";
    s5_a_breaker_that_cannot_be_read: "S5",
        "drop trigger audit_update; update audit set after = 'off' where verb = 'breaker off'";
}

/// Five minutes of nothing, with a node that is there and a session that has room.
fn quiet_time(world: &mut World) {
    world.wait(Duration::from_secs(300));
    world.turn();
}

#[test]
fn i6_a_ready_step_that_nobody_starts() {
    let mut world = healthy(true);
    quiet_time(&mut world);
    let told = world.check(false).findings;
    let ready = format!("step {}", world.named["ready"]);
    assert!(told.iter().any(|f| f.invariant == "I6" && f.entity == ready), "{told:#?}");
    assert!(world.check(true).findings.is_empty(), "with no server, nobody could have started it");
    world.sql("update settings set value = '{\"off\":true}' where name = 'breaker'");
    assert!(world.check(false).findings.is_empty(), "the breaker holds it");
}

#[test]
fn i6_a_ready_step_that_is_passed_over() {
    let mut world = healthy(true);
    quiet_time(&mut world);
    world.tick();
    assert!(world.check(false).findings.is_empty(), "its dispatch group is at work, so its turn may come");
    world.create(vec![step("younger"), step("youngest")]);
    world.run("younger", complete());
    world.run("youngest", complete());
    world.tick();
    let told = world.check(false).findings;
    let ready = format!("step {}", world.named["ready"]);
    assert!(told.iter().any(|f| f.invariant == "I6" && f.entity == ready), "{told:#?}");
}

#[test]
fn i7_a_lease_is_nobodys_concern_while_no_server_runs() {
    let world = healthy(true);
    world.sql("update sessions set ended_at = 1");
    assert!(!told(&world.check(true).findings, "I7"));
}

#[test]
fn s4_a_damaged_page() {
    let world = healthy(true);
    world.damage("steps_wake");
    let findings = world.check(true).findings;
    assert!(told(&findings, "S4"), "{findings:#?}");
    world.damage("steps_block");
    assert!(told(&world.check(true).findings, "S4"), "also where other passes cannot read on");
}

#[test]
fn it_sees_one_moment_while_others_write() {
    let mut world = healthy(true);
    let browse = world.browse();
    let now = world.now();
    let mut wrote = false;
    let findings = browse
        .check(now, false, |done, _| {
            if done == 3 && !wrote {
                wrote = true;
                world.run("ready", complete());
            }
        })
        .unwrap()
        .findings;
    assert!(wrote && findings.is_empty(), "{findings:#?}");
}
