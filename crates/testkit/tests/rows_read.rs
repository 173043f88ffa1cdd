//! What only waits is not read: every waiting row is made unreadable, and live work goes on beside it.
#![allow(clippy::unwrap_used)]

use rules::settle::Mode;
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::Stage;
use store::Database;
use store::postgres::tokio_postgres::{NoTls, connect};

/// Each waits: for its next poll, for a trigger, for a date, and for somebody who resumes it.
const WAITING: &str = "
workflow: waits
version: 1.0.0
steps:
  - { key: polled, poll: { action: poll, arguments: [continue], interval: 30d, max_duration: 300d } }
  - { key: asks, action: ok, after: [], pause_after: { trigger: boss, timeout: 300d } }
  - { key: rests, action: ok, after: [], pause_after: { resume_after: 300d } }
  - { key: sleeps, after: [], wait: 300d }
";
const LIVE: &str = "
workflow: live
version: 1.0.0
steps:
  - { key: a, action: echo, arguments: \"${input.n}\" }
  - { key: b, action: ok, each: \"3\" }
  - { key: c, action: ok }
";
const STEPS: &str = "update steps set reason = 'unreadable' where reason is null and workflow_id in (select id from workflows where definition_key = 'waits')";
const WORKFLOWS: &str = "update workflows set labels = 'unreadable' where definition_key = 'waits'";
const AGAIN: [&str; 2] = [
    "update steps set reason = null where reason = 'unreadable'",
    "update workflows set labels = '{}' where labels = 'unreadable'",
];

async fn sql(stage: &Stage, texts: &[&str]) {
    match stage.database() {
        Database::Sqlite(path) => {
            let file = rusqlite::Connection::open(path).unwrap();
            for text in texts {
                file.execute(text, []).unwrap();
            }
        }
        Database::Postgres(url) => {
            let (client, connection) = connect(&url, NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute("set search_path to stepfast, public").await.unwrap();
            for text in texts {
                client.execute(*text, &[]).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn no_row_that_waits_is_read_by_a_turn() {
    let mut stage = Stage::new().await;
    stage.define(WAITING).await;
    stage.define(LIVE).await;
    let mut waiting = Vec::new();
    for _ in 0..50 {
        waiting.push(stage.start("waits", json!({})).await);
    }
    stage.settle().await;
    assert_eq!(stage.flow(waiting[0]), "running: polled O, asks C, rests C, sleeps P");
    sql(&stage, &[STEPS, WORKFLOWS]).await;
    // A node that begins knows nothing of them.
    stage.crash().await;
    for n in 0..30 {
        let id = stage.start("live", json!({"n": n})).await;
        // What people ask for reads everything, and a turn does not.
        for _ in 0..8 {
            stage.tick(Mode::FixedPoint).await;
        }
        stage.advance(Duration::from_secs(20)).await;
        assert_eq!(stage.flow(id), "succeeded: a C, b C, c C");
    }
    sql(&stage, &AGAIN).await;
    stage.leap(Duration::from_secs(31 * 86_400)).await;
    let polled = stage.step(stage.step_of(waiting[49], "polled")).step.polls;
    assert_eq!(polled, 2, "once it is due it is found");
}

/// The same rows, looked at: what cannot be read is told, so the test above could fail.
#[tokio::test]
async fn a_row_that_is_read_all_the_same_is_told() {
    let mut stage = Stage::new().await;
    let id = stage.run(WAITING, json!({})).await;
    sql(&stage, &[STEPS, WORKFLOWS]).await;
    stage.crash().await;
    let refused = stage.try_trigger(id, "boss", json!({"ok": true})).await.unwrap_err().to_string();
    assert!(refused.starts_with("nothing was stored"), "{refused}");
    sql(&stage, &AGAIN).await;
}
