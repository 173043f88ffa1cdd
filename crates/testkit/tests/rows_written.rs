//! How many rows a workflow costs: counted by the database itself, for many at once as in a busy engine.
#![allow(clippy::unwrap_used)]

use engine::{Config, StartWorkflow};
use rules::settle::Mode;
use std::collections::BTreeMap;
use stepfast_testkit::Stage;
use store::Database;
use store::postgres::tokio_postgres::{Client, NoTls, connect};
use tokio::task::JoinSet;

/// So many at once: as many as one turn hands out.
const WORKFLOWS: u64 = 500;
const FIVE: &str = "
workflow: five
version: 1.0.0
steps:
  - { key: a, action: quiet }
  - { key: b, action: quiet }
  - { key: c, action: quiet }
  - { key: d, action: quiet }
  - { key: e, action: quiet }
";

/// Rows by table and verb.
type Written = BTreeMap<(String, String), u64>;

const VERBS: [&str; 3] = ["insert", "update", "delete"];

async fn client(url: &str) -> Client {
    let (client, connection) = connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// From now on the database counts every row that is written.
async fn count(stage: &Stage) {
    match stage.database() {
        Database::Sqlite(path) => {
            let file = rusqlite::Connection::open(path).unwrap();
            let mut text =
                "create table counted (name text, verb text, n integer, primary key (name, verb));"
                    .to_string();
            for name in tables(&file) {
                for verb in VERBS {
                    text += &format!(
                        "insert into counted values ('{name}', '{verb}', 0);
                         create trigger counted_{name}_{verb} after {verb} on \"{name}\" begin
                           update counted set n = n + 1 where name = '{name}' and verb = '{verb}'; end;"
                    );
                }
            }
            file.execute_batch(&text).unwrap();
        }
        Database::Postgres(url) => {
            // A sequence counts also what is rolled back, and nobody waits for it.
            let text = "create schema counted;
                create function counted.one() returns trigger language plpgsql as $$
                  begin perform nextval('counted.' || tg_table_name || '_' || lower(tg_op)); return null; end $$;
                do $$ declare t text; v text; begin
                  for t in select table_name from information_schema.tables
                            where table_schema = 'stepfast' and table_type = 'BASE TABLE' loop
                    foreach v in array array['insert', 'update', 'delete'] loop
                      execute format('create sequence counted.%I', t || '_' || v);
                    end loop;
                    execute format('create trigger counted after insert or update or delete on stepfast.%I
                                    for each row execute function counted.one()', t);
                  end loop; end $$;";
            client(&url).await.batch_execute(text).await.unwrap();
        }
    }
}

fn tables(file: &rusqlite::Connection) -> Vec<String> {
    let text = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name <> 'counted'";
    let mut statement = file.prepare(text).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

async fn written(stage: &Stage) -> Written {
    match stage.database() {
        Database::Sqlite(path) => {
            let file = rusqlite::Connection::open(path).unwrap();
            let mut statement = file.prepare("select name, verb, n from counted where n > 0").unwrap();
            let row = |row: &rusqlite::Row| Ok(((row.get(0)?, row.get(1)?), row.get::<_, i64>(2)? as u64));
            statement.query_map([], row).unwrap().map(Result::unwrap).collect()
        }
        Database::Postgres(url) => {
            let text = "select sequencename::text, last_value from pg_sequences
                         where schemaname = 'counted' and last_value is not null";
            let rows = client(&url).await.query(text, &[]).await.unwrap();
            let one = |name: String| {
                name.rsplit_once('_').map(|(table, verb)| (table.into(), verb.into())).unwrap()
            };
            rows.iter().map(|row| (one(row.get(0)), row.get::<_, i64>(1) as u64)).collect()
        }
    }
}

async fn start_all(stage: &Stage) {
    let mut starting = JoinSet::new();
    for _ in 0..WORKFLOWS {
        let engine = stage.engine.clone();
        starting.spawn(async move { engine.start_workflow(StartWorkflow::of("five")).await.unwrap() });
    }
    starting.join_all().await;
}

#[tokio::test]
async fn five_steps_cost_six_inserts_six_updates_and_two_events() {
    let config = Config { by_hand: true, host: "stage".into(), ..Config::default() };
    let mut stage = Stage::with(config).await;
    stage.define(FIVE).await;
    count(&stage).await;
    start_all(&stage).await;
    for _ in 0..100 {
        if stage.browse().workflow_counts(9).unwrap().is_empty() {
            break;
        }
        stage.tick(Mode::FixedPoint).await;
    }
    let found = written(&stage).await;
    let of = |tables: &[&str], verb: &str| -> u64 {
        tables.iter().filter_map(|name| found.get(&(name.to_string(), verb.to_string()))).sum()
    };
    let own = ["steps", "workflows"];
    let per = |n: u64| n as f64 / WORKFLOWS as f64;
    println!("per workflow: {:?}", found.iter().map(|(k, n)| (k, per(*n))).collect::<Vec<_>>());
    assert_eq!(of(&["workflows"], "insert"), WORKFLOWS, "all of them are there");
    assert!(of(&own, "insert") <= 6 * WORKFLOWS, "{found:?}");
    assert!(of(&own, "update") <= 6 * WORKFLOWS, "{found:?}");
    assert_eq!(of(&own, "delete"), 0);
    assert!(of(&["workflow_events"], "insert") <= 2 * WORKFLOWS, "{found:?}");
    // What all of them share: the log of claims, the counts behind the page, the groups.
    let is_own = |name: &str| own.contains(&name) || name == "workflow_events";
    let shared: u64 = found.iter().filter(|((name, _), _)| !is_own(name)).map(|(_, n)| n).sum();
    // They come with turns and not with workflows; ten for each of fifty turns, and what is counted of workflows that are open.
    assert!(shared <= WORKFLOWS + WORKFLOWS / 10, "{shared} rows beside the workflows themselves: {found:?}");
}
