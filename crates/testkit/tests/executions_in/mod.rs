//! Executions in a transaction of the caller, beside nodes that work on the same database.

mod alike;

use engine::{Ask, Begin, ExecutionError};
use model::{Execution, ExecutionAsk, ExecutionName, OwnerToken, Standing, Timestamp};
use rules::idempotency::{self, Refusal, Verdict};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use stepfast_testkit::Nodes;
use store::executions::Beginning;
use store::postgres::tokio_postgres::{Client, GenericClient};
use store::postgres::{ExecutionInError, begin_in, complete_in, fail_in};

const SECOND: i64 = 1_000_000;

async fn one() -> Nodes {
    Nodes::start(vec![Nodes::config("one")]).await
}

fn ask(key: &str, owner: u64) -> ExecutionAsk {
    Ask::new("payments.credit", key).input(&100).by(OwnerToken::of(owner))
}

async fn number(client: &impl GenericClient, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.expect("a number").get(0)
}

/// Credit 100, once, in one transaction; `crash` ends it before it is committed.
async fn credit(client: &mut Client, crash: bool) -> Result<Option<String>, ExecutionInError> {
    let transaction = client.transaction().await?;
    let ask = Ask::new("payments.credit", "payment-123")
        .by(OwnerToken::of(number(&transaction, "select txid_current()").await.unsigned_abs()));
    let answer = match begin_in(&transaction, &ask).await? {
        Beginning::Begun { .. } => {
            transaction.execute("update wallets set balance = balance + 100", &[]).await?;
            complete_in(&transaction, &ask.name, ask.owner, "{\"credited\": 100}").await?;
            None
        }
        Beginning::Replay { answer } => Some(answer),
        other => panic!("{other:?}"),
    };
    if crash {
        return Ok(answer);
    }
    transaction.commit().await?;
    Ok(answer)
}

#[tokio::test]
async fn an_effect_and_its_record_are_there_both_or_not_at_all() {
    let nodes = one().await;
    let mut client = nodes.client().await;
    client
        .batch_execute("create table wallets (balance bigint); insert into wallets values (0)")
        .await
        .expect("a table");
    assert_eq!(credit(&mut client, true).await.expect("begun"), None);
    assert_eq!(number(&client, "select balance from wallets").await, 0, "the crash took both");
    assert_eq!(number(&client, "select count(*) from stepfast.executions").await, 0);
    assert_eq!(credit(&mut client, false).await.expect("begun"), None);
    for _ in 0..2 {
        assert_eq!(
            credit(&mut client, false).await.expect("a replay").as_deref(),
            Some("{\"credited\": 100}")
        );
    }
    assert_eq!(number(&client, "select balance from wallets").await, 100);
    let asked = Ask::new("payments.credit", "payment-123");
    let told = nodes.engine(0).executions().begin(&asked).await;
    assert_eq!(told, Ok(Begin::Replay { answer: "{\"credited\": 100}".into() }), "a node says the same");
}

#[tokio::test]
async fn an_open_transaction_holds_up_nobody_who_wants_something_else() {
    let nodes = one().await;
    let (mut client, mut other) = (nodes.client().await, nodes.client().await);
    let executions = nodes.engine(0).executions();
    let transaction = client.transaction().await.expect("a transaction");
    let begun = begin_in(&transaction, &ask("7", 1)).await.expect("begun");
    assert!(matches!(begun, Beginning::Begun { attempt: 1, .. }), "{begun:?}");
    let same = Ask::new("payments.credit", "7").input(&100);
    let waits: Vec<_> = (0..20)
        .map(|_| {
            let (executions, same) = (executions.clone(), same.clone());
            tokio::spawn(async move { executions.begin(&same).await })
        })
        .collect();
    let elsewhere = Ask::new("payments.credit", "8");
    for told in waits {
        let told = told.await.expect("it ends");
        assert!(matches!(told, Err(ExecutionError::InProgress { .. })), "{told:?}");
    }
    assert!(matches!(executions.begin(&elsewhere).await, Ok(Begin::Run(_))));
    // Another transaction waits, and then has the answer.
    let second = tokio::spawn(async move {
        let transaction = other.transaction().await.expect("a transaction");
        begin_in(&transaction, &ask("7", 2)).await.expect("an answer")
    });
    complete_in(&transaction, &ask("7", 1).name, OwnerToken::of(1), "5").await.expect("recorded");
    transaction.commit().await.expect("committed");
    assert_eq!(second.await.expect("it ends"), Beginning::Replay { answer: "5".into() });
    assert_eq!(executions.begin(&same).await, Ok(Begin::Replay { answer: "5".into() }));
}

#[tokio::test]
async fn a_lost_lease_is_refused_in_sql_too() {
    let nodes = one().await;
    let client = nodes.client().await;
    let name = ExecutionName::new("payments.credit", "7");
    begin_in(&client, &ask("7", 1)).await.expect("begun");
    client.execute("update stepfast.executions set lease_ends_at = 1", &[]).await.expect("time passes");
    begin_in(&client, &ask("7", 2)).await.expect("taken over");
    let told = complete_in(&client, &name, OwnerToken::of(1), "1").await.expect_err("it was lost");
    assert_eq!(told.to_string(), "execution payments.credit:7: the lease was lost: attempt 2 is another's");
    fail_in(&client, &name, OwnerToken::of(2), "declined").await.expect("recorded");
    let told = complete_in(&client, &name, OwnerToken::of(2), "1").await.expect_err("it has failed");
    assert!(matches!(told, ExecutionInError::Refused { why: Refusal::Ended, .. }), "{told}");
    let nobody = ExecutionName::new("payments.credit", "8");
    let told = fail_in(&client, &nobody, OwnerToken::of(2), "1").await.expect_err("there is none");
    assert!(matches!(told, ExecutionInError::Refused { why: Refusal::NotThere, .. }), "{told}");
}

#[tokio::test]
async fn plain_sql_begins_and_completes() {
    let nodes = one().await;
    let client = nodes.client().await;
    client.batch_execute("set search_path = ''").await.expect("a setting");
    let begin =
        "select verdict, owner::text, attempt from stepfast.begin_execution('pay', '7', '{\"amount\": 1}')";
    let row = client.query_one(begin, &[]).await.expect("begun");
    assert_eq!((row.get::<_, &str>(0), row.get::<_, i64>(2)), ("begun", 1));
    let owner: &str = row.get(1);
    assert_eq!(client.query_one(begin, &[]).await.expect("a verdict").get::<_, &str>(0), "in_progress");
    let complete = format!("select stepfast.complete_execution('pay', '7', '{owner}', '{{\"a\": 1}}')");
    client.batch_execute(&complete).await.expect("recorded");
    let row = client.query_one(
        "select verdict, answer::text from stepfast.begin_execution('pay', '7', '{\"amount\": 1}')",
        &[],
    );
    let row = row.await.expect("a replay");
    assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("replay", "{\"a\": 1}"));
    let other = "select verdict from stepfast.begin_execution('pay', '7', 'other')";
    assert_eq!(client.query_one(other, &[]).await.expect("a verdict").get::<_, &str>(0), "conflict");
    let bad =
        "select stepfast.begin_execution(' ', null, lease => '0', max_attempts => 0, keep => '20 years')";
    let told = client.batch_execute(bad).await.expect_err("refused");
    let expected = ExecutionAsk {
        name: ExecutionName::new(" ", ""),
        lease: Duration::ZERO,
        max_attempts: 0,
        keep: Duration::MAX,
        ..ask("7", 1)
    };
    let expected: Vec<String> = expected.faults().iter().map(ToString::to_string).collect();
    assert_eq!(told.as_db_error().expect("a refusal").message(), expected.join("\n"));
}

/// A record in each standing, and who asks for it.
fn scenes(now: Timestamp) -> Vec<(Execution, ExecutionAsk)> {
    let day = Duration::from_secs(86_400);
    let mut scenes = Vec::new();
    let standings = [
        Standing::InProgress { lease_ends_at: now + Duration::from_secs(600) },
        Standing::InProgress { lease_ends_at: now - Duration::from_secs(600) },
        Standing::Done { answer: "{\"a\":1}".into() },
        Standing::Failed { error: "declined".into() },
    ];
    for standing in standings {
        for failed in [0, 1, 3] {
            if failed == 0 && matches!(standing, Standing::Failed { .. }) {
                continue;
            }
            for kept in [now - day, now + day] {
                for (owner, input, max) in [(9, 100, 3), (1, 100, 3), (9, 7, 3), (9, 100, 1), (9, 100, 4)] {
                    let asked = Ask::new("scene", format!("{}", scenes.len())).input(&input);
                    let asked = asked.max_attempts(max).by(OwnerToken::of(owner));
                    let made =
                        Ask::new("scene", format!("{}", scenes.len())).input(&100).by(OwnerToken::of(1));
                    let stored = Execution {
                        standing: standing.clone(),
                        attempt: 5,
                        failed_attempts: failed,
                        updated_at: now - 2 * day,
                        keep_until: kept,
                        ..idempotency::first(&made, now - 3 * day)
                    };
                    scenes.push((stored, asked));
                }
            }
        }
    }
    scenes
}

async fn store(client: &Client, e: &Execution) {
    let (lease, answer, error) = match &e.standing {
        Standing::InProgress { lease_ends_at } => (Some(lease_ends_at.0), None, None),
        Standing::Done { answer } => (None, Some(answer.clone()), None),
        Standing::Failed { error } => (None, None, Some(error.clone())),
    };
    let text =
        "insert into stepfast.executions values ($1, $2, $3, $4, $5, $6, 5, $7, 3, $8, $9, $10, $11, $12)";
    let (state, owner) = (e.standing.state().word(), e.owner.bytes().as_slice());
    client
        .execute(
            text,
            &[
                &e.name.namespace,
                &e.name.key,
                &e.input.0.as_slice(),
                &state,
                &owner,
                &lease,
                &i64::from(e.failed_attempts),
                &answer,
                &error,
                &e.created_at.0,
                &e.updated_at.0,
                &e.keep_until.0,
            ],
        )
        .await
        .expect("a record");
}

fn in_short(verdict: &Verdict, stored: &Execution) -> String {
    match verdict {
        Verdict::Begin(next, event) => format!("begun {} {event}", next.attempt),
        Verdict::Begun => format!("begun {} already", stored.attempt),
        Verdict::Anew => "begun 1 begun".into(),
        Verdict::Replay { answer } => format!("replay {answer}"),
        Verdict::Wait { until } => format!("wait {}", until.0 / SECOND),
        Verdict::Conflict => "conflict".into(),
        Verdict::GivenUp { failures, error } => format!("given up {failures} {error}"),
    }
}

#[tokio::test]
async fn the_function_decides_as_the_rule_does() {
    let nodes = one().await;
    let client = nodes.client().await;
    let now = Timestamp(number(&client, "select stepfast.server_now()").await);
    for (stored, asked) in scenes(now) {
        store(&client, &stored).await;
        let expected = in_short(&idempotency::decide(&stored, &asked, now), &stored);
        let told = match begin_in(&client, &asked).await.expect("a verdict") {
            Beginning::Begun { attempt, .. } => {
                let text = "select coalesce(max(event), 'already') from stepfast.execution_events where namespace = $1 and key = $2";
                let row =
                    client.query_one(text, &[&asked.name.namespace, &asked.name.key]).await.expect("a row");
                format!("begun {attempt} {}", row.get::<_, &str>(0))
            }
            Beginning::Replay { answer } => format!("replay {answer}"),
            Beginning::Wait { until } => format!("wait {}", until.0 / SECOND),
            Beginning::Conflict => "conflict".into(),
            Beginning::GivenUp { failures, error } => format!("given up {failures} {error}"),
        };
        assert_eq!(told, expected, "{stored:?}\n{asked:?}");
    }
    // What the records were made of has no history, and `check` would say so.
    client.batch_execute("delete from stepfast.executions").await.expect("a cleaning");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_of_two_nodes_share_one_run() {
    let nodes = Nodes::start(vec![Nodes::config("one"), Nodes::config("two")]).await;
    let runs = Arc::new(AtomicUsize::new(0));
    let mut callers = Vec::new();
    for n in 0..32 {
        let (executions, runs) = (nodes.engine(n % 2).executions().clone(), runs.clone());
        callers.push(tokio::spawn(async move {
            let once = executions.once(Ask::new("payments.credit", "7"), |_| async move {
                Ok::<_, Infallible>(runs.fetch_add(1, Ordering::SeqCst))
            });
            once.await.expect("an answer").answer
        }));
    }
    for caller in callers {
        assert_eq!(caller.await.expect("it ends"), 0);
    }
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_connection_that_was_cut_is_made_anew_and_what_was_begun_goes_on() {
    let nodes = one().await;
    let client = nodes.client().await;
    let executions = nodes.engine(0).executions();
    let cut = "select pg_terminate_backend(pid) from pg_stat_activity
                where datname = current_database() and pid <> pg_backend_pid()";
    let asked = Ask::new("payments.credit", "7");
    let Ok(Begin::Run(begun)) = executions.begin(&asked).await else { panic!("not begun") };
    client.batch_execute(cut).await.expect("they are cut");
    executions.complete(&begun.held, "5".into()).await.expect("it is recorded");
    client.batch_execute(cut).await.expect("they are cut");
    assert_eq!(executions.begin(&asked).await, Ok(Begin::Replay { answer: "5".into() }));
}
