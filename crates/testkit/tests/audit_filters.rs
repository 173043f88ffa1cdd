//! Who touched this? The audit by who, what, to what and when, on both databases.
#![allow(clippy::unwrap_used)]

use model::{Timestamp, limits};
use std::time::Duration;
use stepfast_testkit::{Stage, run};
use store::{AuditEntry, AuditFilter};

const WORKFLOW: &str = "01900000-0000-7000-8000-000000000001";
const STEP: &str = "01900000-0000-7000-8000-000000000002";

/// A second after each other, oldest first.
fn rows() -> Vec<[String; 3]> {
    let workflow = format!("workflow {WORKFLOW}");
    let row = |who: &str, verb: &str, target: &str| [who, verb, target].map(String::from);
    vec![
        row("ada (key k7) from 10.0.0.5", "start", &workflow),
        row("ada (key k7)", "trigger", &format!("{workflow} `approve`")),
        row("bob", "cancel", &format!("step {STEP}")),
        row("ada", "cancel", &workflow),
        row("nobody from 203.0.113.9", "refused", "GET /v1/steps"),
        row("bob", "set pool", "pool api"),
        row("bob from home", "set pool", "pool api (old)"),
        row("eve (key k7x)", "revoke key", "key k7 (ada)"),
        row(&"ü".repeat(300), "set pool", &"🦀".repeat(300)),
    ]
}

async fn told() -> Stage {
    let stage = Stage::new().await;
    for [who, verb, target] in rows() {
        let entry = AuditEntry { who, verb, target, why: None, before: None, after: None };
        stage.engine.put_on_record(entry).await.unwrap();
        stage.advance(Duration::from_secs(1)).await;
    }
    stage
}

/// So many rows, as if they were from before the chain.
async fn put(stage: &Stage, rows: &str, n: usize) {
    let begins = format!("update settings set value = '{n} {n}' where name = 'audit_begins'");
    let text = format!("{rows}; update audit_head set audit_id = {n}; {begins}");
    run(&stage.database(), &text).await.unwrap();
}

/// The numbers of all that a filter finds, one page of so many after the other.
fn paged(stage: &Stage, filter: &AuditFilter, limit: usize) -> Vec<i64> {
    let (browse, mut found) = (stage.browse(), Vec::new());
    let mut filter = AuditFilter { limit, ..filter.clone() };
    loop {
        let (rows, next) = browse.audit_page(&filter).unwrap();
        assert!(rows.len() <= limit);
        found.extend(rows.into_iter().map(|(id, _, _)| id));
        match next {
            Some(_) => filter.after = next,
            None => return found,
        }
    }
}

fn found(stage: &Stage, filter: &AuditFilter) -> Vec<i64> {
    let whole = paged(stage, filter, 100);
    for limit in [1, 2] {
        assert_eq!(paged(stage, filter, limit), whole, "by {limit}: {filter:?}");
    }
    whole
}

fn by(name: &str, value: &str) -> AuditFilter {
    let (value, all) = (Some(value.to_string()), AuditFilter::default());
    match name {
        "who" => AuditFilter { who: value, ..all },
        "verb" => AuditFilter { verb: value, ..all },
        _ => AuditFilter { target: value, ..all },
    }
}

#[tokio::test]
async fn the_audit_is_found_by_who_what_and_to_what() {
    let stage = told().await;
    let (ours, long, crabs) = (format!("workflow {WORKFLOW}"), "ü".repeat(300), "🦀".repeat(300));
    for (name, value, expected) in [
        ("who", "ada", vec![4]),
        ("who", "ada (key k7)", vec![2, 1]),
        ("who", "ada (key k7) from 10.0.0.5", vec![1]),
        ("who", "nobody", vec![5]),
        ("who", "bob", vec![7, 6, 3]),
        ("who", "bob from home", vec![7]),
        ("who", "Bob", vec![]),
        ("who", &long, vec![9]),
        ("verb", "cancel", vec![4, 3]),
        ("verb", "can", vec![]),
        ("target", WORKFLOW, vec![4, 2, 1]),
        ("target", &WORKFLOW.to_uppercase(), vec![4, 2, 1]),
        ("target", &ours, vec![4, 2, 1]),
        ("target", &format!("{ours} `approve`"), vec![2]),
        ("target", STEP, vec![3]),
        ("target", "pool api", vec![6]),
        ("target", "pool api (old)", vec![7]),
        ("target", "key k7", vec![8]),
        ("target", "workflow", vec![]),
        ("target", &crabs, vec![9]),
        ("target", &"🦀".repeat(250), vec![]),
    ] {
        assert_eq!(found(&stage, &by(name, value)), expected, "{name} {value}");
    }
    let all =
        AuditFilter { who: Some("bob".into()), verb: Some("set pool".into()), ..by("target", "pool api") };
    assert_eq!(found(&stage, &all), [6]);
    let none = AuditFilter { verb: Some("cancel".into()), ..by("target", "pool api") };
    assert_eq!(found(&stage, &none), [0_i64; 0]);
    assert_eq!(found(&stage, &AuditFilter::default()), [9, 8, 7, 6, 5, 4, 3, 2, 1]);
    stage.check();
}

#[tokio::test]
async fn the_audit_is_found_by_when() {
    let stage = told().await;
    let (all, _) = stage.browse().audit_page(&AuditFilter { limit: 100, ..AuditFilter::default() }).unwrap();
    let at = |id: i64| all.iter().find(|row| row.0 == id).map(|row| row.1);
    let between = |from, to| AuditFilter { from, to, ..AuditFilter::default() };
    assert_eq!(found(&stage, &between(at(3), at(6))), [5, 4, 3]);
    assert_eq!(found(&stage, &between(at(8), None)), [9, 8]);
    assert_eq!(found(&stage, &between(None, at(3))), [2, 1]);
    assert_eq!(found(&stage, &between(at(3), at(3))), [0_i64; 0]);
    assert_eq!(found(&stage, &AuditFilter { who: Some("bob".into()), ..between(at(4), at(7)) }), [6]);
    assert_eq!(found(&stage, &AuditFilter { target: Some(WORKFLOW.into()), ..between(None, at(4)) }), [2, 1]);
}

/// Of two nodes one may be linked later and have decided earlier: what was between two times is all of it.
#[tokio::test]
async fn times_count_and_not_numbers() {
    let stage = Stage::new().await;
    let rows = "insert into audit (id, at, who, verb, target) values
        (1, 10, 'x', 'y', 'z'), (2, 30, 'x', 'y', 'z'), (3, 20, 'x', 'y', 'z'), (4, 30, 'x', 'y', 'z'), (5, 5, 'x', 'y', 'z')";
    put(&stage, rows, 5).await;
    for filter in [AuditFilter::default(), by("who", "x"), by("verb", "y"), by("target", "z")] {
        assert_eq!(found(&stage, &filter), [4, 2, 3, 1, 5], "{filter:?}");
        let between = AuditFilter { from: Some(Timestamp(10)), to: Some(Timestamp(30)), ..filter };
        assert_eq!(found(&stage, &between), [3, 1], "{between:?}");
    }
}

/// However rare what is asked for is, a page looks at so many and says where to go on.
#[tokio::test]
async fn a_page_of_the_audit_looks_at_so_many() {
    let stage = Stage::new().await;
    let many = "insert into audit (id, at, who, verb, target)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
        select i, i, 'ada', case when i = 1 then 'rare' else 'usual' end, 'pool ' || i from n";
    put(&stage, many, 5_000).await;
    let rare = AuditFilter { verb: Some("rare".into()), limit: 10, ..by("who", "ada") };
    let (rows, next) = stage.browse().audit_page(&rare).unwrap();
    assert_eq!((rows.len(), next), (0, Some(5_001 - limits::AUDIT_LOOKED_AT as i64)));
    let (rows, next) = stage.browse().audit_page(&AuditFilter { after: next, ..rare.clone() }).unwrap();
    assert_eq!((rows.iter().map(|row| row.0).collect::<Vec<_>>(), next), (vec![1], None));
    // From that time on there is nothing more to look at.
    let late = AuditFilter { from: Some(Timestamp(4_990)), ..rare };
    let (rows, next) = stage.browse().audit_page(&late).unwrap();
    assert_eq!((rows.len(), next), (0, None));
    // What leads there looks at nothing else.
    assert_eq!(found(&stage, &by("verb", "rare")), [1]);
}
