//! What a turn reads is found by an index on PostgreSQL too.

use super::{Patience, PostgresStore, Scratch};
use crate::sql::{Param, Sql};
use crate::statements::*;
use crate::{SimClock, Store, page_reads, params, turn_reads};
use std::sync::Arc;
use std::time::Duration;

/// Tables in which something waits.
const WAITING: [&str; 6] = ["steps", "workflows", "pauses", "trigger_payloads", "blocks", "signals"];

/// The first node of a plan that reads one of them without a condition that an index helps with.
fn scan<'a>(plan: &'a [String], tables: &[&str]) -> Option<&'a String> {
    let reads = |line: &str| {
        let of = line.split(" on ").nth(1).and_then(|rest| rest.split_whitespace().next());
        line.contains("Scan")
            && !line.contains("Bitmap Index")
            && of.is_some_and(|table| tables.contains(&table))
    };
    plan.iter().enumerate().filter(|(_, line)| reads(line)).find_map(|(n, line)| {
        let under = plan[n + 1..].iter().take_while(|next| !reads(next));
        let helped = under.into_iter().any(|next| next.contains("Index Cond"));
        (!helped).then_some(line)
    })
}

/// A plan without the nodes that read an index of the live ones: that may be read whole.
fn without_live(plan: &[String]) -> Vec<String> {
    let is_heap = |line: &String| line.contains("Bitmap Heap Scan");
    let of_live = |n: usize| {
        let mut under = plan[n + 1..].iter().take_while(|next| !is_heap(next));
        let index = under.find(|next| next.contains("Bitmap Index"));
        page_reads::is_live(&plan[n])
            || is_heap(&plan[n]) && index.is_some_and(|index| page_reads::is_live(index))
    };
    (0..plan.len()).filter(|n| !of_live(*n)).map(|n| plan[n].clone()).collect()
}

/// While tables are empty, a join that an index of its key is there for may as well be made by going along that index.
fn joined_by_index(line: String) -> String {
    match line.contains("Index Scan using steps_of_workflow on") {
        true => line.replace(" on steps ", " of one workflow "),
        false => line,
    }
}

fn opened(name: &str) -> (Scratch, PostgresStore) {
    let server = std::env::var("STEPFAST_TEST_POSTGRES")
        .expect("set STEPFAST_TEST_POSTGRES to the address of a server; `cargo xtask test` starts one");
    let scratch = Scratch::new(&server, &format!("store_{}_{name}", std::process::id())).unwrap();
    let patience = Patience { flight: Duration::from_secs(10), find_out: Duration::from_secs(10) };
    let clock = Arc::new(SimClock::default());
    let store = PostgresStore::open_with(&scratch.url, Some(clock), patience).unwrap();
    (scratch, store)
}

/// Of empty tables it would read everything, whatever indexes there are.
fn prefer_indexes(sql: &dyn Sql) {
    for way in ["seqscan", "hashjoin", "mergejoin"] {
        sql.execute(&format!("set enable_{way} = off"), &[]).unwrap();
    }
}

fn planned(sql: &dyn Sql, text: &str, values: &[Param]) -> Vec<String> {
    sql.rows(&format!("explain {text}"), values, |row| Ok(row.text(0)?.to_string()))
        .unwrap_or_else(|problem| panic!("{problem}\n{text}"))
}

#[test]
fn no_statement_of_a_turn_scans_what_waits() {
    let (_scratch, store) = opened("plans");
    let sql = store.reader();
    let mut seen = turn_reads::all(sql);
    seen.extend(turn_reads::shared(sql));
    assert!(seen.len() >= 30, "{} statements were looked at", seen.len());
    prefer_indexes(sql);
    for (text, values) in seen {
        let plan = planned(sql, &text, &values);
        assert_eq!(scan(&plan, &WAITING), None, "{plan:#?}\n{text}");
    }
}

/// However much history there is, a page reads no more of it: what an index of the live ones has may be read whole.
#[test]
fn no_page_scans_history() {
    let (scratch, _store) = opened("pages");
    let (browse, seen) = page_reads::all(super::browse(&scratch.url).unwrap().into_sql());
    assert!(seen.len() >= 50, "{} statements were looked at", seen.len());
    prefer_indexes(browse.sql());
    for (text, values) in seen {
        let plan = planned(browse.sql(), &text, &values);
        let plan: Vec<String> = without_live(&plan).into_iter().map(joined_by_index).collect();
        assert_eq!(scan(&plan, &page_reads::HISTORY), None, "{plan:#?}\n{text}");
    }
}

/// Lists for people go along an index in the order in which they are shown: nothing is sorted, and nothing read that is not looked at.
#[test]
fn what_is_listed_is_read_in_the_order_of_an_index() {
    let (_scratch, store) = opened("list_plans");
    prefer_indexes(store.reader());
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
    let audit = crate::browse::audit_texts().map(|(column, text)| {
        (text, format!("audit_{column}"), params!["x", i64::MAX, i64::MAX, 10_i64].to_vec())
    });
    for (text, index, values) in flows.chain(workflows).chain(audit) {
        let plan = planned(store.reader(), &text, &values);
        let has = |word: &str| plan.iter().any(|line| line.contains(word));
        assert!(has(&format!("using {index} on")) && has("Index Cond"), "{plan:#?}\n{text}");
        assert!(!has("Sort") && !has("Seq Scan"), "{plan:#?}\n{text}");
    }
}

#[test]
fn a_scan_is_seen() {
    let plan = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    let bad = plan("Limit\n  ->  Seq Scan on steps  (cost=1)\n        Filter: (a = 1)");
    assert_eq!(scan(&bad, &WAITING), Some(&bad[1]));
    let whole = plan("Index Scan using steps_pkey on steps s  (cost=1)\n  Filter: (a = 1)");
    assert_eq!(scan(&whole, &WAITING), Some(&whole[0]));
    let good = plan("Index Scan using steps_pkey on steps s  (cost=1)\n  Index Cond: (id = 1)");
    assert_eq!(scan(&good, &WAITING), None);
    let bitmap =
        plan("Bitmap Heap Scan on steps\n  ->  Bitmap Index Scan on steps_block\n        Index Cond: (x)");
    assert_eq!(scan(&bitmap, &WAITING), None);
}
