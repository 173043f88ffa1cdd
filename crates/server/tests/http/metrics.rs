//! Figures for Prometheus: what is told is told as its own tool wants it, and every name is in the document.

use crate::place::Place;
use axum::body::Body;
use axum::http::Request;
use model::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use store::{Clock, Database, SimClock, SystemClock};

const DOCUMENT: &str = include_str!("../../../../docs/operations/metrics.md");

async fn told(place: &Place) -> String {
    let answer = place.get("/metrics").await;
    answer.text().to_owned()
}

fn value(told: &str, series: &str) -> f64 {
    let line = told.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series} is not in\n{told}")).parse().expect("a number")
}

#[tokio::test]
async fn what_a_node_did_and_what_is_waiting_is_told() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let steps = r#"[{"action": "noop"}, {"action": "fail", "max_attempts": 1}, {"action": "nobody"}]"#;
    let made = place.create(steps).await;
    place.until_state(&made[0], "completed").await;
    place.until_state(&made[1], "failed").await;
    let told = told(&place).await;
    assert_eq!(value(&told, "stepfast_steps_created_total"), 3.0);
    assert_eq!(value(&told, "stepfast_steps_started_total"), 2.0);
    assert_eq!(value(&told, "stepfast_steps_ended_total{state=\"completed\"}"), 1.0);
    assert_eq!(value(&told, "stepfast_steps_ended_total{state=\"failed\"}"), 1.0);
    assert_eq!(value(&told, "stepfast_attempts_failed_total"), 1.0);
    assert_eq!(value(&told, "stepfast_step_wait_seconds_count"), 2.0);
    assert_eq!(value(&told, "stepfast_attempt_duration_seconds_count"), 2.0);
    assert_eq!(value(&told, "stepfast_spans_dropped_total"), 0.0);
    assert!(value(&told, "stepfast_commits_total{outcome=\"stored\"}") >= 2.0);
    for what in ["turn", "commit"] {
        let of = |part: &str| value(&told, &format!("stepfast_{what}_duration_seconds_{part}"));
        assert!(of("count") >= 2.0 && of("sum") > 0.0, "{what}: {told}");
    }
    assert_eq!(value(&told, "stepfast_sessions"), 1.0);
    let pending: f64 = told
        .lines()
        .filter(|line| line.starts_with("stepfast_steps{") && line.contains("state=\"pending\""))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum();
    assert_eq!(pending, 1.0, "{told}");
}

#[tokio::test]
async fn who_decides_and_what_is_held_back_is_told() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let line = |action| {
        format!(
            r#"[{{"action": "{action}", "max_attempts": 1, "message_group": "line", "mode": "block_on_error"}}]"#
        )
    };
    let failed = place.create(&line("fail")).await;
    place.until_state(&failed[0], "failed").await;
    place.create(&line("noop")).await;
    let told = told(&place).await;
    assert_eq!(value(&told, "stepfast_message_groups_held{why=\"blocked\"}"), 1.0);
    assert_eq!(value(&told, "stepfast_message_groups_held{why=\"paused\"}"), 0.0);
    assert!(value(&told, "stepfast_lease_seconds{dispatch_group=\"alpha\"}") > 0.0, "{told}");
    let unpublished = ["stepfast_outbox_messages", "stepfast_outbox_oldest_seconds"];
    assert_eq!(unpublished.map(|name| value(&told, name)), [0.0, 0.0]);
}

/// What is told once a figure is this; it is counted a moment after the caller is answered.
async fn told_with(place: &Place, series: &str, n: f64) -> String {
    let mut again = tokio::time::interval(Duration::from_millis(5));
    let asked = async {
        loop {
            again.tick().await;
            let told = told(place).await;
            if value(&told, series) == n {
                return told;
            }
        }
    };
    let patience = Duration::from_secs(30);
    tokio::time::timeout(patience, asked).await.unwrap_or_else(|_| panic!("{series} was never {n}"))
}

/// A worker in another process with so many places, which is given one step.
async fn claim_one(place: &Place, capacity: u32) -> Value {
    let body = json!({"actions": ["work"], "capacity": capacity, "wait_ms": 5000});
    let page = place.post("/v1/worker/claim", body.to_string()).await.ok();
    assert_eq!(page["claims"].as_array().unwrap().len(), 1, "{page}");
    page
}

/// A worker in another process that gives up what it holds by not naming it.
async fn lose_one(place: &Place) {
    let page = claim_one(place, 1).await;
    let beat = json!({"session": page["session"], "received": page["number"], "held": []});
    place.post("/v1/worker/heartbeat", beat.to_string()).await.ok();
}

/// One of everything that is told.
async fn busy() -> Place {
    let place = Place::open();
    place.post("/v1/pools", r#"{"name": "card", "concurrency": 2}"#).await.ok();
    place.define("workflow: order\nversion: 1.0.0\nsteps: [{ key: a, action: nobody }]").await.ok();
    place.start("order", json!({})).await;
    place.create(r#"[{"action": "work", "pool": "card"}]"#).await;
    lose_one(&place).await;
    let off = r#"{"off": true, "why": "deploy", "dispatch_group": "beta"}"#;
    place.post("/v1/breaker", off).await.ok();
    place
}

#[tokio::test]
async fn what_is_lost_what_is_off_and_what_is_limited_is_told() {
    let place = busy().await;
    let told = told_with(&place, "stepfast_attempts_lost_total", 1.0).await;
    assert_eq!(value(&told, "stepfast_attempt_duration_seconds_count"), 1.0);
    let off = |group: &str| value(&told, &format!("stepfast_dispatch_off{{dispatch_group=\"{group}\"}}"));
    assert_eq!((off("alpha"), off("beta")), (0.0, 1.0));
    assert_eq!(value(&told, "stepfast_pool_concurrency{pool=\"card\"}"), 2.0);
    assert_eq!(value(&told, "stepfast_workflows_open{definition=\"order\",state=\"running\"}"), 1.0);
    place.close().await;
}

#[tokio::test]
async fn what_a_worker_holds_and_how_much_it_could_hold_is_told() {
    let place = Place::open();
    place.post("/v1/pools", r#"{"name": "card", "concurrency": 2}"#).await.ok();
    place.create(r#"[{"action": "work", "pool": "card"}, {"action": "nobody"}]"#).await;
    claim_one(&place, 5).await;
    let told = told(&place).await;
    let held = ["stepfast_pool_used{pool=\"card\"}", "stepfast_steps_in_flight"];
    assert_eq!(held.map(|name| value(&told, name)), [1.0, 1.0]);
    let could = ["stepfast_sessions", "stepfast_session_places"];
    assert_eq!(could.map(|name| value(&told, name)), [1.0, 5.0]);
    place.close().await;
}

#[tokio::test]
async fn an_open_alert_is_told_by_how_grave_it_is() {
    let place = Place::open();
    let rule = Request::put("/v1/stuck/rules/step-waiting").header("host", "localhost:7837");
    let body = json!({"older_than": "0s", "severity": "critical"}).to_string();
    place.send(rule.header("content-type", "application/json").body(Body::from(body)).unwrap()).await.ok();
    place.create(r#"[{"action": "nobody"}]"#).await;
    place.post("/v1/stuck/detect", "{}").await.ok();
    let told = told(&place).await;
    let open = |severity: &str| value(&told, &format!("stepfast_alerts_open{{severity=\"{severity}\"}}"));
    assert_eq!(["low", "medium", "high", "critical"].map(open), [0.0, 0.0, 0.0, 1.0]);
    place.close().await;
}

/// A message that is to be published since then.
async fn post(database: &Database, at: Timestamp) {
    let id = "00000000000000000000000000000007";
    let row =
        |id: &str| format!("(step_id, attempt, dispatch_group, at) values ({id}, 1, 'alpha', {})", at.0);
    match database {
        Database::Sqlite(path) => {
            let file = rusqlite::Connection::open(path).unwrap();
            file.execute_batch(&format!("insert into outbox {}", row(&format!("x'{id}'")))).unwrap();
        }
        Database::Postgres(url) => {
            use store::postgres::tokio_postgres::{NoTls, connect};
            let (client, connection) = connect(url, NoTls).await.unwrap();
            tokio::spawn(connection);
            let text = format!("insert into stepfast.outbox {}", row(&format!("'\\x{id}'")));
            client.batch_execute(&text).await.unwrap();
        }
    }
}

#[tokio::test]
async fn how_long_the_oldest_has_waited_is_told() {
    let clock = SimClock::at(SystemClock::default().now());
    let place = Place::at(Arc::new(clock.clone()));
    place.create(r#"[{"action": "nobody"}]"#).await;
    // Half a second more: an instant in a row may be a little later than that of the clock.
    clock.advance(Duration::from_millis(600_500));
    post(&place.site().database, clock.now()).await;
    clock.advance(Duration::from_secs(90));
    let told = told(&place).await;
    assert_eq!(value(&told, "stepfast_oldest_pending_seconds"), 690.0);
    assert_eq!(value(&told, "stepfast_outbox_messages"), 1.0);
    assert_eq!(value(&told, "stepfast_outbox_oldest_seconds"), 90.0);
    place.close().await;
}

#[tokio::test]
async fn promtool_finds_nothing_to_say() {
    let place = busy().await;
    let told = told(&place).await;
    for family in documented() {
        assert!(told.contains(&format!("# TYPE {family} ")), "{family} is looked at too");
    }
    let mut check = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is there; `cargo xtask test` installs it");
    check.stdin.take().expect("a pipe").write_all(told.as_bytes()).expect("it reads");
    let out = check.wait_with_output().expect("it ends");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[tokio::test]
async fn every_metric_is_in_the_document_and_none_else() {
    let place = Place::open();
    let told = told(&place).await;
    let names: BTreeSet<&str> =
        told.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let documented_always: BTreeSet<&str> =
        documented().difference(&ONLY_WITH_ROWS.into()).copied().collect();
    assert_eq!(names, documented_always);
}

fn documented() -> BTreeSet<&'static str> {
    let names = DOCUMENT.lines().filter_map(|line| line.strip_prefix("| `")?.split(['`', '{']).next());
    names.filter(|name| name.starts_with("stepfast_")).collect()
}

/// These have no series while there is nothing of their kind.
const ONLY_WITH_ROWS: [&str; 3] =
    ["stepfast_pool_concurrency", "stepfast_pool_used", "stepfast_workflows_open"];
