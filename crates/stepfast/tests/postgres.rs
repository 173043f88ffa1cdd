//! The real binary on PostgreSQL: servers that share the work and take over from each other.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, text, until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use stepfast::postgres::tokio_postgres::error::SqlState;
use stepfast::postgres::tokio_postgres::{self, NoTls};
use stepfast::{EnqueueError, NewStep, enqueue_in};
use store::postgres::Scratch;

fn scratch(name: &str) -> Scratch {
    let server = std::env::var("STEPFAST_TEST_POSTGRES")
        .expect("set STEPFAST_TEST_POSTGRES to the address of a server; `cargo xtask test` starts one");
    Scratch::new(&server, &format!("cli_{}_{name}", std::process::id())).unwrap()
}

fn command(scratch: &Scratch, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stepfast"));
    command.args(args).env("STEPFAST_DB", &scratch.url).env("STEPFAST_HISTORY", "full");
    command.env_remove("STEPFAST_SERVER").env_remove("PORT");
    command
}

fn ok(scratch: &Scratch, args: &[&str]) -> String {
    let output = command(scratch, args).output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{args:?} ended with {}: {out}{err}", output.status);
    out
}

fn serve(scratch: &Scratch) -> Server {
    Server::spawn(command(scratch, &["serve", "--port", "0"]))
}

fn states(scratch: &Scratch) -> Vec<String> {
    let rows = ok(scratch, &["steps", "list", "--all", "--json"]);
    let state = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["state"].as_str().unwrap().to_string()
    };
    rows.lines().map(state).collect()
}

#[test]
fn a_first_step_without_a_server_and_with_one() {
    let scratch = scratch("first");
    ok(&scratch, &["migrate"]);
    ok(&scratch, &["steps", "create", "--action", "echo", "--arguments", "{\"hello\":\"world\"}"]);
    assert_eq!(states(&scratch), ["pending"]);
    let server = serve(&scratch);
    until("the step ends", || states(&scratch) == ["completed"]);
    ok(&scratch, &["steps", "create", "--action", "noop"]);
    until("the second ends", || states(&scratch) == ["completed", "completed"]);
    assert!(ok(&scratch, &["nodes"]).contains(&server.url));
    ok(&scratch, &["check"]);
    server.stop();
    ok(&scratch, &["check"]);
}

fn nodes(scratch: &Scratch) -> Vec<serde_json::Value> {
    let rows = ok(scratch, &["nodes", "--json"]);
    rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// How many groups each living node decides for, fewest first.
fn spread(scratch: &Scratch) -> Vec<usize> {
    let living = nodes(scratch).into_iter().filter(|n| n["ended_at"].is_null());
    let mut counts: Vec<usize> = living.map(|n| n["dispatch_groups"].as_array().unwrap().len()).collect();
    counts.sort_unstable();
    counts
}

#[test]
fn servers_share_the_groups_and_the_work_and_one_takes_over() {
    let scratch = scratch("two");
    let first = serve(&scratch);
    let second = serve(&scratch);
    until("each has half of the groups", || spread(&scratch) == [5, 5]);
    for server in [&first, &second] {
        for _ in 0..5 {
            ok(&scratch, &["steps", "create", "--action", "noop", "--server", &server.url]);
        }
    }
    until("all ended", || states(&scratch).iter().all(|s| s == "completed"));
    ok(&scratch, &["check"]);
    second.kill();
    until("the first has all groups", || spread(&scratch) == [10]);
    ok(&scratch, &["steps", "create", "--action", "noop"]);
    until("all ended", || states(&scratch).len() == 11 && states(&scratch).iter().all(|s| s == "completed"));
    ok(&scratch, &["check"]);
    first.stop();
}

#[test]
fn one_that_stands_by_takes_no_group_while_another_lives() {
    let scratch = scratch("standby");
    let standby = Server::spawn(command(&scratch, &["serve", "--port", "0", "--standby"]));
    until("alone it decides", || spread(&scratch) == [10]);
    let first = serve(&scratch);
    until("it gives all groups to the other", || spread(&scratch) == [0, 10]);
    first.kill();
    until("it takes over", || spread(&scratch) == [10]);
    standby.stop();
}

#[tokio::test]
async fn an_order_and_its_step_are_there_together_or_not_at_all() {
    let scratch = scratch("orders");
    let server = serve(&scratch);
    let (mut client, connection) = tokio_postgres::connect(&scratch.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("create table orders (item text primary key, step uuid)").await.unwrap();
    let charge = NewStep { label: Some("charge".into()), ..NewStep::of("echo") };
    for keep in [true, false] {
        let transaction = client.transaction().await.unwrap();
        let step = enqueue_in(&transaction, &charge).await.unwrap();
        let text = format!("insert into orders values ('{keep}', '{step}')");
        transaction.batch_execute(&text).await.unwrap();
        if keep { transaction.commit().await.unwrap() } else { transaction.rollback().await.unwrap() }
    }
    let refused = enqueue_in(&client, &NewStep::of("")).await.unwrap_err();
    assert!(
        matches!(&refused, EnqueueError::Invalid(faults) if faults[0].field == "steps[0].action"),
        "{refused}"
    );
    until("the step of the order that stayed has ended", || states(&scratch) == ["completed"]);
    ok(&scratch, &["check"]);
    server.stop();
    ok(&scratch, &["check"]);
}

/// What the document has the owner of the schema say, for a role of another name.
fn rights(role: &str) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations/postgres.md");
    let text = std::fs::read_to_string(page).unwrap();
    let block = text.split("```sql\n").find(|block| block.starts_with("create role stepfast_node")).unwrap();
    block.split("```").next().unwrap().replace("stepfast_node", role)
}

async fn client(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The same database for somebody else.
fn as_role(url: &str, role: &str) -> String {
    let (_, rest) = url.split_once('@').unwrap();
    format!("postgres://{role}@{rest}")
}

const SHORT: &str = "workflow: short\nversion: 1.0.0\nsteps:\n  - { key: a, action: echo }\n  - { key: b, each: '[1, 2]', action: noop }\n";

/// Whoever serves may change rows and no table; whoever owns the schema migrates.
#[tokio::test(flavor = "multi_thread")]
async fn s43_a_role_that_may_change_no_table_serves_and_works() {
    let owned = scratch("owned");
    let role = format!("low_{}", std::process::id());
    ok(&owned, &["migrate"]);
    let owner = client(&owned.url).await;
    owner.batch_execute(&rights(&role)).await.unwrap();
    let low = as_role(&owned.url, &role);
    let run = |args: &[&str]| command(&owned, args).env("STEPFAST_DB", &low).output().unwrap();
    let done = |args: &[&str]| {
        let output = run(args);
        assert!(output.status.success(), "{args:?}: {}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    };
    done(&["migrate", "--check"]);
    let mut serving = command(&owned, &["serve", "--port", "0"]);
    serving.env("STEPFAST_DB", &low);
    let server = Server::spawn(serving);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("short.yaml");
    std::fs::write(&file, SHORT).unwrap();
    done(&["apply", file.to_str().unwrap()]);
    done(&["start", "short"]);
    done(&["pools", "set", "p", "--concurrency", "2"]);
    done(&[
        "steps",
        "create",
        "--action",
        "noop",
        "--pool",
        "p",
        "--message-group",
        "g",
        "--mode",
        "block_on_error",
    ]);
    done(&["keys", "create", "--name", "n", "--role", "viewer"]);
    done(&["message-groups", "pause", "g", "--why", "x"]);
    let states = || {
        let listed = done(&["list", "--json"]);
        listed
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["state"].clone())
            .collect::<Vec<_>>()
    };
    until("the workflow ends", || states() == ["succeeded"]);
    done(&["stuck", "detect"]);
    done(&["check"]);
    server.stop();
    for args in [
        &["archive", "--days", "0", "--why", "x"][..],
        &["purge", "--days", "0", "--ticks", "--why", "x"],
        &["check"],
        &["nodes"],
    ] {
        done(args);
    }
    let low_client = client(&low).await;
    for forbidden in [
        "create table stepfast.x ()",
        "create function stepfast.x() returns int language sql as 'select 1'",
        "alter table stepfast.steps add column x int",
        "drop table stepfast.audit",
        "truncate stepfast.audit",
        "create schema x",
    ] {
        let told = low_client.batch_execute(forbidden).await.unwrap_err();
        assert_eq!(told.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{forbidden}: {told}");
    }
    let last = "delete from stepfast.migrations where number = (select max(number) from stepfast.migrations)";
    owner.batch_execute(last).await.unwrap();
    let refused = run(&["serve", "--port", "0"]);
    assert!(
        !refused.status.success() && text(&refused.stderr).contains("permission denied"),
        "{}",
        text(&refused.stderr)
    );
    drop((low_client, owned));
    let server = std::env::var("STEPFAST_TEST_POSTGRES").unwrap();
    client(&server).await.batch_execute(&format!("drop role {role}")).await.unwrap();
}

/// The lock under which migrations are applied.
const MIGRATING: i64 = 0x5374_6570_6661_7374;

#[tokio::test]
async fn a_server_that_waits_for_a_migration_lives_and_is_not_ready() {
    let scratch = scratch("migrating");
    let other = client(&scratch.url).await;
    other.batch_execute(&format!("select pg_advisory_lock({MIGRATING})")).await.unwrap();
    // An address that no other process of this machine has.
    let [_, a, b, c] = std::process::id().to_be_bytes();
    let address = format!("127.{}.{b}.{c}:7837", 1 + a % 100);
    let serving = command(&scratch, &["serve", "--bind", &address]);
    let started = tokio::task::spawn_blocking(move || Server::spawn(serving));
    let asked = tokio::task::spawn_blocking(move || {
        let said = |path: &str| common::get(&format!("http://{address}{path}"));
        until("it lives", || said("/livez").0 == 200);
        said("/readyz")
    });
    let (status, answer) = asked.await.unwrap();
    assert_eq!((status, &answer["code"]), (503, &"not_ready".into()), "{answer}");
    assert!(answer["detail"].as_str().unwrap().contains("migrating"), "{answer}");
    assert!(!started.is_finished(), "it has not said that it listens");
    other.batch_execute(&format!("select pg_advisory_unlock({MIGRATING})")).await.unwrap();
    let server = started.await.unwrap();
    ok(&scratch, &["migrate", "--check"]);
    server.stop();
}

/// Many ask at once whether it is ready: every other one from elsewhere, behind a proxy, and without a key.
fn asked_at_once(address: &str) {
    let mut asked: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(address).unwrap()).collect();
    for (n, stream) in asked.iter_mut().enumerate() {
        let from = if n % 2 == 0 { "" } else { "x-forwarded-for: 203.0.113.9\r\n" };
        let request = format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\n{from}connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
    }
    for mut stream in asked {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

/// No key is asked for there: whoever asks often enough could take all connections that the database has.
#[tokio::test]
async fn s26a_however_many_ask_whether_it_is_ready_one_connection_looks() {
    let scratch = scratch("ready");
    let (server, other) = (serve(&scratch), client(&scratch.url).await);
    let connections = async || -> i64 {
        let all = "select count(*) from pg_stat_activity where datname = current_database()";
        other.query_one(all, &[]).await.unwrap().get(0)
    };
    let address = server.url.strip_prefix("http://").unwrap().to_string();
    let ready = format!("{}/readyz", server.url);
    let first = tokio::task::spawn_blocking(move || until("it is ready", || common::get(&ready).0 == 200));
    first.await.unwrap();
    let before = connections().await;
    let flood = tokio::task::spawn_blocking(move || (0..10).for_each(|_| asked_at_once(&address)));
    let mut most = before;
    while !flood.is_finished() {
        most = most.max(connections().await);
    }
    flood.await.unwrap();
    // One looks, those before it may still be ending, and the node may open what it had no need of before.
    assert!(most <= before + 8, "{most} connections, {before} before");
    server.stop();
}

#[test]
fn servers_on_a_restored_copy_wait_until_somebody_confirms() {
    let original = scratch("original");
    ok(&original, &["steps", "create", "--action", "noop"]);
    let copy = original.copy(&format!("cli_{}_restored", std::process::id())).unwrap();
    let (first, second) = (serve(&copy), serve(&copy));
    for _ in 0..3 {
        // Each is stored by a turn that would have handed out what is ready.
        ok(&copy, &["steps", "create", "--action", "noop"]);
    }
    assert_eq!(states(&copy), ["pending"; 4]);
    let status = ok(&copy, &["breaker", "status"]);
    assert!(status.contains("off") && status.contains("because this database is a copy of"), "{status}");
    ok(&copy, &["breaker", "on", "--why", "looked at it"]);
    until("all have ended", || states(&copy) == ["completed"; 4]);
    ok(&copy, &["check"]);
    first.stop();
    second.stop();
    let server = serve(&original);
    until("the original was never held", || states(&original) == ["completed"]);
    server.stop();
}

/// The block of SQL on a page that has this in it.
fn sql(page: &str, part: &str) -> String {
    let path = format!("{}/../../docs/{page}.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut blocks = text.split("```sql\n").skip(1).filter_map(|block| block.split("```").next());
    blocks.find(|block| block.contains(part)).unwrap().to_string()
}

/// The first row of the answers to some statements.
async fn first_row(client: &tokio_postgres::Client, text: &str) -> tokio_postgres::SimpleQueryRow {
    let told = client.simple_query(text).await.unwrap();
    let row = told.into_iter().find_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    row.unwrap_or_else(|| panic!("{text} answers nothing"))
}

/// All but the rights, which `s43` gives to a role of its own.
#[tokio::test(flavor = "multi_thread")]
async fn the_sql_of_the_documents_runs_as_it_stands() {
    let scratch = scratch("sql");
    let server = serve(&scratch);
    let client = client(&scratch.url).await;
    let tables =
        "create table orders (id int, item text); create table wallets (user_id int, balance bigint)";
    client.batch_execute(&format!("{tables}; insert into wallets values (7, 0)")).await.unwrap();
    client.batch_execute(&sql("operations/postgres", "stepfast.enqueue(")).await.unwrap();
    assert_eq!(states(&scratch), ["pending"], "it is due in five minutes");
    assert_eq!(first_row(&client, "select item from orders").await.get("item"), Some("book"));
    let block = sql("execute-once", "stepfast.begin_execution(");
    let (begin, rest) = block.split_once("-- verdict:").unwrap();
    let begun = first_row(&client, begin).await;
    assert_eq!(begun.get("verdict"), Some("begun"));
    let owner = format!("'{}'", begun.get("owner").unwrap());
    client.batch_execute(&format!("--{}", rest.replace(":owner", &owner))).await.unwrap();
    let again = first_row(&client, begin).await;
    let answer: serde_json::Value = serde_json::from_str(again.get("answer").unwrap()).unwrap();
    assert_eq!((again.get("verdict"), &answer["credited"]), (Some("replay"), &serde_json::json!(10_000)));
    client.batch_execute("rollback").await.unwrap();
    assert_eq!(first_row(&client, "select balance from wallets").await.get("balance"), Some("10000"));
    ok(&scratch, &["check"]);
    server.stop();
}
