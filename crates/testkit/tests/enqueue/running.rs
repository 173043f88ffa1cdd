//! What becomes of steps that callers make, and what their transactions do to the nodes.

use super::{number, one};
use engine::Config;
use model::{NewStep, State, StepId};
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::Nodes;
use store::postgres::tokio_postgres::error::SqlState;
use store::postgres::tokio_postgres::{IsolationLevel, Transaction};
use store::postgres::{enqueue_in, enqueue_many_in};
use store::{Clock, SystemClock};

fn completed(nodes: &Nodes) -> usize {
    nodes.steps().iter().filter(|(_, state)| *state == State::Completed).count()
}

async fn enqueue(transaction: &Transaction<'_>, step: &NewStep) -> StepId {
    enqueue_in(transaction, step).await.expect("it is sound")
}

#[tokio::test]
async fn what_is_rolled_back_was_never_there() {
    let nodes = one().await;
    let mut client = nodes.client().await;
    let mut transaction = client.transaction().await.expect("it begins");
    enqueue(&transaction, &NewStep::of("ok")).await;
    let savepoint = transaction.savepoint("later").await.expect("it begins");
    enqueue(&savepoint, &NewStep::of("ok")).await;
    assert!(enqueue_in(&savepoint, &NewStep::of("")).await.is_err());
    savepoint.rollback().await.expect("it goes back");
    assert_eq!(number(&transaction, "select count(*) from stepfast.steps").await, 1);
    assert_eq!(number(&transaction, "select count(*) from stepfast.signals").await, 1);
    transaction.rollback().await.expect("it goes back");
    for table in ["steps", "signals", "tallies", "events"] {
        assert_eq!(number(&client, &format!("select count(*) from stepfast.{table}")).await, 0, "{table}");
    }
}

/// Without a word from the caller a node that idles would look after ten seconds.
#[tokio::test]
async fn an_idle_node_runs_what_is_committed_at_once() {
    let nodes = Nodes::start(vec![Nodes::config("one"), Nodes::config("two")]).await;
    nodes.until("each has half of the groups", |n| n.spread() == [5, 5]).await;
    nodes.work(0).await;
    nodes.work(1).await;
    let mut client = nodes.client().await;
    for round in 1..=5 {
        let transaction = client.transaction().await.expect("it begins");
        for _ in 0..4 {
            enqueue(&transaction, &NewStep::of("ok")).await;
        }
        transaction.commit().await.expect("it commits");
        let ended = nodes.until("all ended", |n| completed(n) == 4 * round);
        tokio::time::timeout(Duration::from_secs(4), ended).await.expect("promptly");
    }
    let soon = NewStep { delay_ms: Some(300), ..NewStep::of("ok") };
    enqueue_in(&client, &soon).await.expect("it is sound");
    let ended = nodes.until("the delayed one ended", |n| completed(n) == 21);
    tokio::time::timeout(Duration::from_secs(4), ended).await.expect("promptly");
    nodes
        .until("all signals were heard", |n| {
            n.browse().totals().expect("a read").tallies.iter().all(|(k, _)| k.state == State::Completed)
        })
        .await;
}

/// The rows that nodes write are not touched by a caller, so one that dawdles holds nobody up, at whatever isolation.
#[tokio::test]
async fn a_transaction_that_stays_open_holds_nobody_up() {
    let nodes = one().await;
    nodes.work(0).await;
    let mut client = nodes.client().await;
    let begun = client.build_transaction().isolation_level(IsolationLevel::Serializable).start().await;
    let transaction = begun.expect("it begins");
    let ok = NewStep::of("ok");
    enqueue_many_in(&transaction, &vec![ok.clone(); 10]).await.expect("they are sound");
    nodes.create(0, json!(vec![&ok; 10])).await;
    nodes.until("what others made is done", |n| completed(n) == 10).await;
    enqueue_many_in(&transaction, &vec![ok.clone(); 10]).await.expect("they are sound");
    transaction.commit().await.expect("nothing stands against it");
    nodes.until("all ended", |n| completed(n) == 30).await;
}

#[tokio::test]
async fn many_callers_at_once_lose_and_double_nothing() {
    let nodes = Nodes::start(vec![Nodes::config("one"), Nodes::config("two")]).await;
    nodes.work(0).await;
    nodes.work(1).await;
    let mut callers = Vec::new();
    for caller in 0..6 {
        let mut client = nodes.client().await;
        callers.push(tokio::spawn(async move {
            for n in 0..12 {
                let transaction = client.transaction().await.expect("it begins");
                let priority = (n % 3 == 0).then(|| "high".to_string());
                enqueue(&transaction, &NewStep { priority, ..NewStep::of("ok") }).await;
                enqueue_many_in(&transaction, &[NewStep::of("ok"), NewStep::of("ok")])
                    .await
                    .expect("they are sound");
                if (n + caller) % 4 == 0 {
                    transaction.rollback().await.expect("it goes back");
                } else {
                    transaction.commit().await.expect("it commits");
                }
            }
        }));
    }
    for n in 0..20 {
        nodes.create(n % 2, json!([{"action": "ok"}])).await;
    }
    for caller in callers {
        caller.await.expect("no caller fails");
    }
    nodes.until("all ended", |n| completed(n) == 6 * 9 * 3 + 20).await;
    assert_eq!(nodes.steps().len(), 6 * 9 * 3 + 20);
}

fn findings(nodes: &Nodes) -> Vec<String> {
    let found =
        nodes.browse().check(SystemClock::default().now(), false, |_, _| {}).expect("check runs").findings;
    found.iter().map(|f| format!("{f:?}")).collect()
}

#[tokio::test]
async fn what_is_made_while_no_node_runs_is_counted_and_run_by_the_next() {
    for full_history in [true, false] {
        let config = || Config { full_history, ..Nodes::config("one") };
        let mut nodes = Nodes::start(vec![config()]).await;
        nodes.create(0, json!([{"action": "ok"}])).await;
        nodes.stop(0).await;
        let client = nodes.client().await;
        enqueue_many_in(&client, &vec![NewStep::of("ok"); 20]).await.expect("they are sound");
        assert_eq!(findings(&nodes), [""; 0]);
        let events = number(&client, "select count(*) from stepfast.events").await;
        assert_eq!(events, if full_history { 21 } else { 0 });
        let counted: i64 = nodes.browse().totals().expect("a read").tallies.iter().map(|(_, n)| n).sum();
        assert_eq!(counted, 21);
        nodes.add(config());
        nodes.work(1).await;
        nodes.until("all ended", |n| completed(n) == 21).await;
        let heard = |n: &Nodes| {
            n.browse().totals().expect("a read").tallies.iter().all(|(k, _)| k.state == State::Completed)
        };
        nodes.until("all were counted", heard).await;
        nodes.stop(1).await;
        assert_eq!(number(&client, "select count(*) from stepfast.signals").await, 0);
        assert_eq!(number(&client, "select sum(n)::bigint from (select n from stepfast.tallies union all select n from stepfast.tally_parts) t").await, 21);
        assert_eq!(findings(&nodes), [""; 0]);
    }
}

/// A group whose steps nobody has counted yet is not taken away.
#[tokio::test]
async fn a_group_with_steps_that_nobody_has_heard_of_stays() {
    let mut nodes = one().await;
    nodes.stop(0).await;
    let client = nodes.client().await;
    let step = NewStep { dispatch_group: Some("kappa".into()), ..NewStep::of("ok") };
    enqueue_in(&client, &step).await.expect("it is sound");
    let mut groups = Config::default().groups;
    groups.truncate(9);
    let fewer = Config { owned: groups.clone(), groups, ..Nodes::config("one") };
    let store = nodes.database().open(None, Default::default()).expect("it opens");
    let refused = engine::Engine::start(store, fewer).err().expect("it does not start").to_string();
    assert!(
        refused.contains("dispatch group `kappa` is not in the configuration but has 1 live steps"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_role_that_may_call_may_do_nothing_else() {
    let nodes = one().await;
    let mut client = nodes.client().await;
    let role = format!("caller_{}", std::process::id());
    let mut transaction = client.transaction().await.expect("it begins");
    let script = format!(
        "create role {role}; grant usage on schema stepfast to {role}; set local role {role}; set local search_path = ''"
    );
    transaction.batch_execute(&script).await.expect("a role");
    enqueue(&transaction, &NewStep::of("ok")).await;
    transaction
        .query_one("select stepfast.enqueue('ok', delay => '1 hour')", &[])
        .await
        .expect("it may call");
    transaction.batch_execute("set local search_path = stepfast").await.expect("a setting");
    for forbidden in [
        "delete from stepfast.steps",
        "select * from stepfast.steps",
        "select stepfast.make('{}'::stepfast.new_step[])",
    ] {
        let savepoint = transaction.savepoint("tried").await.expect("it begins");
        let told = savepoint.query(forbidden, &[]).await.expect_err(forbidden);
        assert_eq!(told.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{forbidden}: {told}");
        savepoint.rollback().await.expect("it goes back");
    }
    transaction.rollback().await.expect("the role goes too");
}

#[tokio::test]
async fn a_database_that_no_node_has_used_says_so() {
    let nodes = Nodes::start(vec![]).await;
    nodes.database().migrate(SystemClock::default().now(), true).expect("it migrates");
    let client = nodes.client().await;
    let told = enqueue_in(&client, &NewStep::of("ok")).await.expect_err("there is no group");
    let told = format!("{:?}", std::error::Error::source(&told));
    assert!(told.contains("no node has run on this database"), "{told}");
}
