//! What a turn reads is found by an index on PostgreSQL too.

use super::{Patience, PostgresStore, Scratch};
use crate::statements::*;
use crate::{SimClock, Store, params, turn_reads};
use std::sync::Arc;
use std::time::Duration;

/// Tables in which something waits.
const WAITING: [&str; 5] = ["steps", "workflows", "pauses", "trigger_payloads", "blocks"];

/// The first node of a plan that reads one of them without a condition that an index helps with.
fn scan(plan: &[String]) -> Option<&String> {
    let reads = |line: &str| {
        let of = line.split(" on ").nth(1).and_then(|rest| rest.split_whitespace().next());
        line.contains("Scan")
            && !line.contains("Bitmap Index")
            && of.is_some_and(|table| WAITING.contains(&table))
    };
    plan.iter().enumerate().filter(|(_, line)| reads(line)).find_map(|(n, line)| {
        let under = plan[n + 1..].iter().take_while(|next| !reads(next));
        let helped = under.into_iter().any(|next| next.contains("Index Cond"));
        (!helped).then_some(line)
    })
}

/// A database of the moment, on which nothing is read by going over a table if there is another way.
fn scene(name: &str) -> (Scratch, PostgresStore) {
    let server = std::env::var("STEPFAST_TEST_POSTGRES")
        .expect("set STEPFAST_TEST_POSTGRES to the address of a server; `cargo xtask test` starts one");
    let scratch = Scratch::new(&server, &format!("store_{}_{name}", std::process::id())).unwrap();
    let patience = Patience { flight: Duration::from_secs(10), find_out: Duration::from_secs(10) };
    let clock = Arc::new(SimClock::default());
    let store = PostgresStore::open_with(&scratch.url, Some(clock), patience).unwrap();
    // Of empty tables it would read everything, whatever indexes there are.
    for way in ["seqscan", "hashjoin", "mergejoin"] {
        store.reader().execute(&format!("set enable_{way} = off"), &[]).unwrap();
    }
    (scratch, store)
}

#[test]
fn no_statement_of_a_turn_scans_what_waits() {
    let (_scratch, store) = scene("plans");
    let sql = store.reader();
    let seen = turn_reads::all(sql);
    assert!(seen.len() >= 30, "{} statements were looked at", seen.len());
    for (text, values) in seen {
        let plan = sql
            .rows(&format!("explain {text}"), &values, |row| Ok(row.text(0)?.to_string()))
            .unwrap_or_else(|problem| panic!("{problem}\n{text}"));
        assert_eq!(scan(&plan), None, "{plan:#?}\n{text}");
    }
}

/// Lists for people go along an index in the order in which they are shown: nothing is sorted, and nothing read that is not looked at.
#[test]
fn what_is_listed_is_read_in_the_order_of_an_index() {
    let (_scratch, store) = scene("list_plans");
    // Of an empty table all rows are as soon sorted as read in order.
    for way in ["bitmapscan", "sort", "incremental_sort"] {
        store.reader().execute(&format!("set enable_{way} = off"), &[]).unwrap();
    }
    let (start, end) = ([0_u8; 16], [0xff_u8; 16]);
    let flows = crate::flows::texts().into_iter().map(|(column, text)| (text, format!("flows_{column}")));
    let named = |(text, index): (String, String)| {
        (text, index.replace("user_id", "user"), params!["x", end, 10_i64].to_vec())
    };
    let flows = flows.map(named);
    let workflows = [
        (HALF_DONE_REACH, "workflows_open", params!["running", start, 9_i64].to_vec()),
        (HALF_DONE_WORKFLOWS, "workflows_open", params!["running", start, end, 10_i64].to_vec()),
        (UNRESOLVED_WORKFLOWS, "workflows_undecided", params![start, 10_i64].to_vec()),
        (HALF_DONE_FLOWS, "flows_half_done", params![start, 10_i64].to_vec()),
        (OPEN_REACH, "blocks_open", params!["alpha", start, 9_i64].to_vec()),
        (OPEN_TREES, "blocks_open", params!["alpha", start, end, 10_i64].to_vec()),
    ];
    let workflows = workflows.map(|(text, index, values)| (with_columns(text), index.to_string(), values));
    for (text, index, values) in flows.chain(workflows) {
        let plan = store
            .reader()
            .rows(&format!("explain {text}"), &values, |row| Ok(row.text(0)?.to_string()))
            .unwrap_or_else(|problem| panic!("{problem}\n{text}"));
        let has = |word: &str| plan.iter().any(|line| line.contains(word));
        assert!(has(&format!("using {index} on")) && has("Index Cond"), "{plan:#?}\n{text}");
        assert!(!has("Sort") && !has("Seq Scan"), "{plan:#?}\n{text}");
    }
}

#[test]
fn a_scan_is_seen() {
    let plan = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    let bad = plan("Limit\n  ->  Seq Scan on steps  (cost=1)\n        Filter: (a = 1)");
    assert_eq!(scan(&bad), Some(&bad[1]));
    let whole = plan("Index Scan using steps_pkey on steps s  (cost=1)\n  Filter: (a = 1)");
    assert_eq!(scan(&whole), Some(&whole[0]));
    let good = plan("Index Scan using steps_pkey on steps s  (cost=1)\n  Index Cond: (id = 1)");
    assert_eq!(scan(&good), None);
    let bitmap =
        plan("Bitmap Heap Scan on steps\n  ->  Bitmap Index Scan on steps_block\n        Index Cond: (x)");
    assert_eq!(scan(&bitmap), None);
}
