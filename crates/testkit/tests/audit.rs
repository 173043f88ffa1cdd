//! The audit is a chain: whatever is done to it behind the engine's back, `check` says where.
#![allow(clippy::unwrap_used)]

use engine::{Ask, Begin, FlowWish, Saying, StartFlow};
use model::{Breaker, FlowName, FlowState, NewKey, Pool};
use rules::operator::Verb;
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::{Stage, run};
use store::{Asked, AuditEntry, AuditFilter, Database, Finding, Retaining, Retention};

/// What a row was written with.
const COLUMNS: &str = "id, at, who, verb, target, why, before, after, hash";

/// Five rows, of turns and of what goes around them.
async fn told() -> Stage {
    let stage = Stage::new().await;
    for off in [true, false] {
        let breaker = Breaker { off, why: Some("lunch".into()), ..Breaker::default() };
        stage.engine.set_breaker(None, breaker, "ada").await.unwrap();
    }
    for n in 1..=3 {
        let pool = Pool { concurrency: Some(n), ..Pool::new("mail") };
        stage.engine.put_pool(pool, "bob \u{1f4a1}".into()).await.unwrap();
    }
    stage.check();
    stage
}

fn newest(limit: usize) -> AuditFilter {
    AuditFilter { limit, ..AuditFilter::default() }
}

fn found(stage: &Stage) -> Vec<Finding> {
    let checked = stage.browse().check(stage.clock_now(), false, |_, _| {}).unwrap();
    checked.findings.into_iter().filter(|finding| finding.invariant == "S8").collect()
}

async fn sql(stage: &Stage, text: &str) {
    run(&stage.database(), text).await.unwrap_or_else(|problem| panic!("{problem}: {text}"));
}

/// From now on rows can be changed.
async fn unlock(stage: &Stage) {
    sql(
        stage,
        match stage.database() {
            Database::Sqlite(_) => "drop trigger audit_update; drop trigger audit_delete",
            Database::Postgres(_) => "alter table audit disable trigger audit_stays",
        },
    )
    .await;
    sql(
        stage,
        &format!("create table kept as select {COLUMNS} from audit; create table kept_head as select * from audit_head"),
    )
    .await;
}

async fn put_back(stage: &Stage) {
    sql(
        stage,
        &format!(
            "delete from audit; insert into audit ({COLUMNS}) select {COLUMNS} from kept;
             delete from audit_head; insert into audit_head select * from kept_head"
        ),
    )
    .await;
    stage.check();
}

#[tokio::test]
async fn rows_of_the_audit_are_numbered_and_cannot_be_changed() {
    let stage = told().await;
    let (rows, _) = stage.browse().audit_page(&newest(10)).unwrap();
    let numbers: Vec<i64> = rows.iter().map(|(id, _, _)| *id).collect();
    assert_eq!(numbers, [5, 4, 3, 2, 1]);
    for text in ["update audit set who = 'eve'", "delete from audit where id = 5"] {
        let refused = run(&stage.database(), text).await.unwrap_err();
        assert!(refused.contains("the audit is only added to"), "{refused}");
    }
    assert_eq!(found(&stage), []);
}

#[tokio::test]
async fn a_change_in_any_column_is_found() {
    let stage = told().await;
    unlock(&stage).await;
    let changes = [
        "at = at + 1",
        "who = 'Ada'",
        "verb = verb || ' '",
        "target = 'breakers'",
        "why = 'Lunch'",
        "why = null",
        "before = replace(before, 'lunch', 'launch')",
        "before = null",
        "after = replace(after, 'lunch', 'launch')",
        "hash = null",
        "hash = (select hash from kept where id = 1)",
    ];
    for change in changes {
        sql(&stage, &format!("update audit set {change} where id = 2")).await;
        let findings = found(&stage);
        assert_eq!(findings.first().map(|f| f.entity.as_str()), Some("audit 2"), "{change}: {findings:#?}");
        put_back(&stage).await;
    }
}

#[tokio::test]
async fn a_row_that_is_missing_too_many_or_elsewhere_is_found() {
    let stage = told().await;
    unlock(&stage).await;
    let again = "insert into audit (id, at, who, verb, target, why, before, after, hash)";
    let put = |id: i64, of: i64| {
        format!(
            "{again} select {id}, at, who, verb, target, why, before, after, hash from kept where id = {of};"
        )
    };
    let plants = [
        ("in the middle", "delete from audit where id = 3".to_string(), "audit 4"),
        ("the first", "delete from audit where id = 1".into(), "audit 2"),
        ("the last", "delete from audit where id = 5".into(), "audit"),
        (
            "the last, and the end with it",
            "delete from audit where id = 5; delete from audit_head".into(),
            "audit",
        ),
        ("all", "delete from audit".into(), "audit"),
        ("one more", put(6, 5), "audit 6"),
        ("before the first", put(0, 1), "audit 0"),
        (
            "before the first, as an old one",
            format!("{} update audit set hash = null where id = 0", put(0, 1)),
            "audit",
        ),
        (
            "two swapped",
            format!("delete from audit where id in (2, 3); {}{}", put(2, 3), put(3, 2)),
            "audit 2",
        ),
        ("two ends", "insert into audit_head select 4, hash from kept where id = 4".into(), "audit"),
        (
            "another end",
            "update audit_head set hash = (select hash from kept where id = 4)".into(),
            "audit 5",
        ),
    ];
    for (what, plant, entity) in plants {
        sql(&stage, &plant).await;
        let findings = found(&stage);
        assert_eq!(findings.first().map(|f| f.entity.as_str()), Some(entity), "{what}: {findings:#?}");
        put_back(&stage).await;
    }
}

/// What was taken away from the end stays visible when the chain goes on.
#[tokio::test]
async fn the_chain_goes_on_behind_a_row_that_is_gone() {
    let stage = told().await;
    unlock(&stage).await;
    sql(&stage, "delete from audit where id = 5").await;
    stage.engine.set_breaker(None, Breaker::default(), "ada").await.unwrap();
    let told: Vec<String> =
        found(&stage).into_iter().map(|f| format!("{}: {}", f.entity, f.problem)).collect();
    assert_eq!(told, ["audit 6: rows 5 to 5 are missing before it"]);
    put_back(&stage).await;
}

/// Rows from before the chain are counted and not linked.
#[tokio::test]
async fn a_chain_may_begin_behind_rows_without_a_hash() {
    let stage = Stage::new().await;
    let old =
        "insert into audit (id, at, who, verb, target) values (1, 1, 'x', 'y', 'z'), (7, 1, 'x', 'y', 'z');
        delete from audit_head; insert into audit_head select 7, hash from audit_gone;
        update settings set value = '7 2' where name = 'audit_begins'";
    let empty = match stage.database() {
        Database::Sqlite(_) => "x''",
        Database::Postgres(_) => "''::bytea",
    };
    sql(&stage, &format!("create table audit_gone as select {empty} as hash; {old}")).await;
    stage.engine.set_breaker(None, Breaker::default(), "ada").await.unwrap();
    let (rows, _) = stage.browse().audit_page(&newest(10)).unwrap();
    assert_eq!(rows.iter().map(|(id, _, _)| *id).collect::<Vec<_>>(), [8, 7, 1]);
    stage.check();
}

/// What is refused leaves no row, and the next one has its number.
#[tokio::test]
async fn what_was_not_done_is_not_told() {
    let stage = told().await;
    let unknown = stage.engine.remove_pool("nothing".into(), None, Asked::by("bob")).await.unwrap();
    assert_eq!(unknown, engine::Removal::Unknown);
    assert_eq!(stage.browse().audit(10).unwrap().len(), 5);
    let gone = stage.engine.remove_pool("mail".into(), None, Asked::by("bob")).await.unwrap();
    assert_eq!(gone, engine::Removal::Removed);
    let (rows, _) = stage.browse().audit_page(&newest(1)).unwrap();
    assert_eq!((rows[0].0, rows[0].2.verb.as_str()), (6, "remove pool"));
}

/// Who came in by a browser and who left; the token itself is nowhere.
#[tokio::test]
async fn signing_in_and_out_is_told() {
    let stage = Stage::new().await;
    let new = NewKey { name: "ops".into(), role: "operator".into(), ..NewKey::default() };
    let (key, _) = stage.engine.add_key(new, "ada".into()).await.unwrap();
    let token = stage.engine.sign_in(key.id, key.signature(), stage.clock_now()).await.unwrap();
    for _ in 0..2 {
        stage.engine.sign_out(token.hash(), key.signature()).await.unwrap();
    }
    let rows = stage.browse().audit(10).unwrap();
    let told: Vec<String> = rows.iter().map(|(_, e)| format!("{} {} {}", e.who, e.verb, e.target)).collect();
    let (who, made) = (key.signature(), format!("ada create key key {} (ops)", key.id));
    assert_eq!(told, [format!("{who} sign out browser"), format!("{who} sign in browser"), made]);
    let held = stepfast_testkit::everything(&stage.database()).await;
    assert!(!stepfast_testkit::holds(&held, token.reveal()));
}

/// What one thing of each kind was changed to that goes around the turns, or why not.
async fn change_each(stage: &Stage, flow: model::FlowId) -> Vec<bool> {
    let (pool, seen) = (Pool { concurrency: Some(9), ..Pool::new("mail") }, pool_of_three());
    let set = stage.engine.set_pool(pool, seen, "ada".into()).await;
    let archive = Retention::Archive { before: stage.clock_now() };
    let how = Retaining::Done(Asked { who: "ada".into(), why: Some("old".into()) });
    let retained = stage.engine.with_store(move |store| store.retain(archive, how)).await.unwrap();
    let forgotten = stage.engine.executions().forget(Some(stage.clock_now()), Asked::by("ada")).await;
    let said = Saying { flow, message: Some("enough".into()), by: "ada".into() };
    let asked = stage.engine.ask_flow(said, FlowWish::Cancel).await;
    vec![set.is_ok(), retained.is_ok(), forgotten.is_ok(), asked.is_ok()]
}

fn pool_of_three() -> Pool {
    Pool { concurrency: Some(3), ..Pool::new("mail") }
}

fn line(entry: &AuditEntry) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let AuditEntry { who, verb, target, why, before, after } = entry;
    let target = target.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
    format!("{who} {verb} {target} ({}): {} -> {}", text(why), text(before), text(after))
}

/// A change and its row are one commit: where the row cannot be written, nothing is changed.
#[tokio::test]
async fn what_cannot_be_told_is_not_done() {
    let stage = told().await;
    let step = stage.create(json!([{"action": "ghost"}])).await[0];
    stage.operate(step, Some(Verb::Cancel)).await.unwrap();
    let Begin::Run(begun) = stage.engine.executions().begin(&Ask::new("pay", "7")).await.unwrap() else {
        panic!("nobody has begun it")
    };
    stage.engine.executions().complete(&begun.held, "1".into()).await.unwrap();
    let [kind, key, entity_type, entity_id] = ["pay", "7", "", ""].map(String::from);
    let name = FlowName { kind, key, entity_type, entity_id };
    let start = StartFlow { open: true, ..StartFlow::new(name, "shop") };
    let flow = stage.engine.flows().start(start).await.unwrap().flow.id;
    stage.advance(Duration::from_secs(60)).await;
    let rows = stage.browse().audit(20).unwrap().len();
    sql(&stage, "create table kept_head as select * from audit_head; delete from audit_head").await;
    assert_eq!(change_each(&stage, flow).await, [false; 4]);
    let browse = stage.browse();
    assert_eq!(browse.pools().unwrap()[0].pool, pool_of_three());
    assert_eq!(stage.step(step).step.id, step, "it is not archived");
    assert!(browse.execution(&begun.held.name).unwrap().is_some());
    assert_ne!(browse.flow(flow).unwrap().unwrap().flow.state, FlowState::Cancelled);
    sql(&stage, "insert into audit_head select * from kept_head").await;
    assert_eq!(change_each(&stage, flow).await, [true; 4]);
    let told: Vec<String> = stage.browse().audit(4).unwrap().iter().rev().map(|(_, e)| line(e)).collect();
    assert_eq!(
        told,
        [
            "ada set pool pool mail (): 3 at once -> 9 at once".to_string(),
            "ada archive 1 trees with 1 (old): live -> archived".into(),
            "ada forget executions 1 executions begun long (): on record -> gone".into(),
            format!("ada cancel flow {flow} (enough): pending -> cancelled"),
        ]
    );
    assert_eq!(stage.browse().audit(20).unwrap().len(), rows + 4);
    // Nobody is told of what was there already.
    assert_eq!(stage.engine.executions().forget(None, Asked::by("ada")).await.unwrap().executions, 0);
    assert_eq!(stage.browse().audit(20).unwrap().len(), rows + 4);
    stage.check();
}
