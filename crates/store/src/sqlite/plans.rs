//! Every shared statement prepares on a migrated database, and those that must not read history find their index.

use super::{OpenMode, connect, migrate};
use crate::sql::Sql;
use crate::statements::*;
use crate::{page_reads, turn_reads};
use rusqlite::Connection;

fn migrated() -> Connection {
    let mut connection = connect::open(":memory:".as_ref(), OpenMode::Writer).unwrap();
    migrate::migrate(&mut connection, model::Timestamp(0)).unwrap();
    connection
}

const SHARED: &[&str] = &[
    INSERT_STEP,
    WRITE_STEP,
    END_STEP,
    PARK_STEP,
    END_PARKED,
    INSERT_BLOCK,
    COUNT_BLOCK,
    WRITE_BLOCK,
    ADD_TALLY,
    INSERT_CLAIM,
    DELETE_CLAIM,
    INSERT_ATTEMPT,
    INSERT_POLL,
    FORGET_POLLS,
    INSERT_EVENT,
    INSERT_TICK,
    INSERT_AUDIT,
    INSERT_AUDIT_HEAD,
    DELETE_AUDIT_HEAD,
    CONFIRM_RESTORED,
    INSERT_KEY,
    REVOKE_KEY,
    USE_KEY,
    OPEN_ALERT,
    CLOSE_ALERT,
    INSERT_ALERT,
    RENEW_ALERT,
    MARK_ALERT,
    INSERT_ALERT_EVENT,
    INSERT_STUCK_ASK,
    WRITE_STUCK_ASK,
    HEAR_STUCK_ASK,
    BEGIN_LOOK,
    END_LOOK,
    FORGET_ALERTS,
    FORGET_ALERT_EVENTS,
    INSERT_SIGNAL,
    ANSWER_SIGNAL,
    DELETE_SIGNAL,
    FORGET_SESSIONS,
    FORGET_NODES,
    FORGET_SIGNALS,
    END_BREAKER,
    END_GLOBAL_BREAKER,
    PUT_SESSION,
    PUT_SETTING,
    WRITE_GROUP,
    RENEW_NODE,
    RENEW_GROUPS,
    RENEW_SESSIONS,
    READY_ROOTS,
    READY_QUEUES,
    UNSETTLED_CHILDREN,
    AT_INDEX,
    OLDEST_READY,
    OLDEST_PENDING,
    OLDEST_POOLED,
    OLDEST_DUE,
    INSERT_PAUSE,
    WRITE_PAUSE,
    INSERT_TRIGGER_PAYLOAD,
    JUDGE_TRIGGER_PAYLOAD,
    FORGET_TRIGGER_PAYLOAD,
    INSERT_EXECUTION,
    FIND_EXECUTION,
    WRITE_EXECUTION,
    DELETE_EXECUTION,
    INSERT_EXECUTION_EVENT,
    EXECUTION_EVENTS,
    FORGET_EXECUTIONS,
    FORGET_OLD_EXECUTIONS,
    INSERT_WORKFLOW,
    WRITE_WORKFLOW,
    WRITE_AFTERMATH,
    INSERT_WORKFLOW_EVENT,
    INSERT_RESOLUTION_DECISION,
    INSERT_COMPENSATION_RUN,
    WRITE_COMPENSATION_RUN,
    HOLD_FLOW,
    INSERT_FLOW,
    INSERT_FLOW_STEP,
    INSERT_FLOW_EVENT,
    WRITE_FLOW,
    WRITE_FLOW_STEP,
    FLOW_STEPS,
    FLOW_EVENTS,
    FORGET_FLOW_EVENTS,
    HALF_DONE_FLOWS,
    HALF_DONE_WORKFLOWS,
    HALF_DONE_REACH,
    UNRESOLVED_WORKFLOWS,
    OPEN_TREES,
    OPEN_REACH,
    PUT_NOTICE,
    INSERT_CHANNEL_SENDS,
    WRITE_CHANNEL_SENDS,
    FORGET_NOTICES,
    INSERT_MINUTE,
    FORGET_MINUTES,
];

#[test]
fn every_statement_prepares_and_names_its_parameters_in_order() {
    let connection = migrated();
    let due = due(10);
    for sql in SHARED.iter().copied().chain([due.as_str()]) {
        let sql = with_columns(sql);
        let statement = connection.prepare(&sql).unwrap_or_else(|e| panic!("{e}\n{sql}"));
        for i in 1..=statement.parameter_count() {
            assert_eq!(
                statement.parameter_name(i),
                Some(format!("${i}").as_str()),
                "order of parameters in\n{sql}"
            );
        }
    }
}

/// A list of more than two words in a constraint or an index costs a table of its own for every row that is written.
#[test]
fn what_is_written_for_every_step_and_workflow_makes_no_table_of_the_moment() {
    let connection = migrated();
    for sql in [
        INSERT_STEP,
        END_STEP,
        WRITE_STEP,
        PARK_STEP,
        END_PARKED,
        INSERT_WORKFLOW,
        WRITE_WORKFLOW,
        INSERT_WORKFLOW_EVENT,
        INSERT_FLOW,
        WRITE_FLOW,
        INSERT_FLOW_STEP,
        WRITE_FLOW_STEP,
    ] {
        let mut statement = connection.prepare(&format!("explain {sql}")).unwrap();
        let nothing = vec![rusqlite::types::Null; statement.parameter_count()];
        let steps =
            statement.query_map(rusqlite::params_from_iter(nothing), |row| row.get::<_, String>(1)).unwrap();
        assert!(steps.map(Result::unwrap).all(|step| step != "OpenEphemeral"), "{sql}");
    }
}

#[test]
fn what_waits_is_found_without_reading_history() {
    let connection = migrated();
    for (sql, index) in [
        (READY_ROOTS, "steps_ready"),
        (READY_QUEUES, "steps_ready"),
        (OLDEST_READY, "steps_ready"),
        (OLDEST_PENDING, "steps_ready"),
        (OLDEST_POOLED, "steps_pooled"),
        (OLDEST_DUE, "steps_wake"),
        (UNSETTLED_CHILDREN, "steps_block"),
        (AT_INDEX, "steps_block"),
        (&due(10), "steps_wake"),
        (FORGET_ALERTS, "alerts_closed"),
        (FORGET_ALERT_EVENTS, "alert_events_at"),
        (FORGET_EXECUTIONS, "executions_kept"),
        (FORGET_OLD_EXECUTIONS, "executions_made"),
        (HALF_DONE_FLOWS, "flows_half_done"),
        (HALF_DONE_WORKFLOWS, "workflows_open"),
        (HALF_DONE_REACH, "workflows_open"),
        (UNRESOLVED_WORKFLOWS, "workflows_undecided"),
        (OPEN_TREES, "blocks_open"),
        (OPEN_REACH, "blocks_open"),
        (FORGET_NOTICES, "notices_old"),
        (FORGET_MINUTES, "minutes_at"),
    ] {
        let mut statement = connection.prepare(&format!("explain query plan {}", with_columns(sql))).unwrap();
        let mut found = statement.raw_query();
        let mut plan = Vec::new();
        while let Some(row) = found.next().unwrap() {
            plan.push(row.get::<_, String>(3).unwrap());
        }
        assert!(plan.iter().any(|line| line.contains(index)), "{plan:?}\n{sql}");
        assert!(!plan.iter().any(|line| line.contains("TEMP B-TREE")), "{plan:?}\n{sql}");
    }
}

/// From one sort to the next by the whole key: else each look for the next goes over all that wait in the last.
#[test]
fn sorts_are_found_without_reading_what_waits_in_them() {
    let connection = migrated();
    for (sql, key) in [
        (READY_QUEUES, "((dispatch_group,queue,priority)>(?,?,?)"),
        (OLDEST_PENDING, "((dispatch_group,queue,priority)>(?,?,?)"),
        (POOLED_SORTS, "((pool,dispatch_group,queue,priority)>(?,?,?,?)"),
        (OLDEST_POOLED, "((pool,dispatch_group,queue,priority)>(?,?,?,?)"),
    ] {
        let mut statement = connection.prepare(&format!("explain query plan {sql}")).unwrap();
        let mut found = statement.raw_query();
        let mut plan = Vec::new();
        while let Some(row) = found.next().unwrap() {
            plan.push(row.get::<_, String>(3).unwrap());
        }
        assert!(plan.iter().any(|line| line.contains(key)), "{plan:#?}\n{sql}");
    }
}

/// Whatever a list of flows is asked for, it goes along an index by id, and reads what it looks at.
#[test]
fn every_list_of_flows_has_an_index_that_goes_on_by_id() {
    let connection = migrated();
    let sql: &dyn Sql = &connection;
    for (column, text) in crate::flows::texts() {
        let values = crate::params!["x", [0xff_u8; 16], 10_i64];
        let plan = sql
            .rows(&format!("explain query plan {text}"), values, |row| Ok(row.text(3)?.to_string()))
            .unwrap_or_else(|problem| panic!("{problem}\n{text}"));
        // An index over what is made of a column does not name it.
        let wanted = if column == "state" {
            "flows_state (<expr>>? AND <expr><?)".into()
        } else {
            format!("({column}")
        };
        assert_eq!(plan.len(), 1, "{plan:?}\n{text}");
        assert!(
            plan[0].starts_with("SEARCH flows USING INDEX flows_") && plan[0].contains(&wanted),
            "{plan:?}"
        );
    }
}

/// Whoever the audit is asked for, and whatever: it goes along an index by time, and reads what it looks at.
#[test]
fn every_list_of_the_audit_has_an_index_that_goes_on_by_time() {
    let connection = migrated();
    let sql: &dyn Sql = &connection;
    for (column, text) in crate::browse::audit_texts() {
        let values = crate::params!["x", i64::MAX, i64::MAX, 10_i64];
        let plan = sql
            .rows(&format!("explain query plan {text}"), values, |row| Ok(row.text(3)?.to_string()))
            .unwrap_or_else(|problem| panic!("{problem}\n{text}"));
        // From both ends: else it would go over all that stand behind the value.
        let wanted = format!("SEARCH audit USING INDEX audit_{column} ({column}>? AND ({column},at)<(?,?))");
        assert_eq!(plan, [wanted], "{text}");
    }
}

/// What waits, waits in rows of the same tables: whatever a turn reads there, it finds by an index.
#[test]
fn no_statement_of_a_turn_scans_what_waits() {
    let connection = migrated();
    let sql: &dyn Sql = &connection;
    let seen = turn_reads::all(sql);
    assert!(seen.len() >= 30, "{} statements were looked at", seen.len());
    for (text, values) in seen {
        let plan = sql
            .rows(&format!("explain query plan {text}"), &values, |row| Ok(row.text(3)?.to_string()))
            .unwrap_or_else(|problem| panic!("{problem}\n{text}"));
        // What a statement has made itself it may go through.
        let own = ["q", "queues", "CONSTANT"];
        let scans =
            |line: &&String| line.strip_prefix("SCAN ").is_some_and(|of| !own.contains(&first_word(of)));
        assert_eq!(plan.iter().find(scans), None, "{plan:?}\n{text}");
    }
}

/// However much history there is, a page reads no more of it.
#[test]
fn no_page_scans_history() {
    let (browse, seen) = page_reads::all(Box::new(migrated()));
    assert!(seen.len() >= 50, "{} statements were looked at", seen.len());
    for (text, values) in seen {
        let plan = browse
            .sql()
            .rows(&format!("explain query plan {text}"), &values, |row| Ok(row.text(3)?.to_string()))
            .unwrap_or_else(|problem| panic!("{problem}\n{text}"));
        let history =
            |table: &str| page_reads::HISTORY.contains(&table) || page_reads::ALIASES.contains(&table);
        let scans = |line: &&String| {
            line.strip_prefix("SCAN ").is_some_and(|of| history(first_word(of)) && !page_reads::is_live(of))
        };
        assert_eq!(plan.iter().find(scans), None, "{plan:?}\n{text}");
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}
