//! What is stuck, end to end: real store, real turn, real look, simulated time.

#[path = "stuck/alerts.rs"]
mod alerts;
#[path = "stuck/defaults.rs"]
mod defaults;
#[path = "stuck/own.rs"]
mod own;
#[path = "stuck/remedies.rs"]
mod remedies;
#[path = "stuck/reported.rs"]
mod reported;
#[path = "stuck/searches.rs"]
mod searches;

use engine::{Config, DetectOrder, Detection, Remedies, Scope, StuckConfig, dry_detect};
use model::{Alert, StuckPolicy, StuckRule, Timestamp};
use std::time::Duration;
use stepfast_testkit::Stage;
use store::postgres::tokio_postgres;
use store::{AlertFilter, Database};

pub const HOUR: Duration = Duration::from_secs(3_600);
pub const MINUTE: Duration = Duration::from_secs(60);

/// A stage on which remedies are as careful as this.
pub async fn stage_with(policy: StuckPolicy) -> Stage {
    let secrets = stepfast_testkit::keys("k1");
    let stuck = StuckConfig { policy, ..StuckConfig::default() };
    Stage::with(Config {
        by_hand: true,
        full_history: true,
        host: "stage".into(),
        secrets,
        stuck,
        ..Config::default()
    })
    .await
}

/// A rule from the start with another name, to be changed.
pub fn rule(like: &str, name: &str) -> StuckRule {
    let all = engine::stuck_rules_over(Vec::new());
    let rule = all.into_iter().find(|rule| rule.name == like).expect("a rule from the start");
    StuckRule { name: name.into(), ..rule }
}

pub async fn put(stage: &Stage, rule: StuckRule) {
    stage.engine.put_stuck_rule(rule, "test".into()).await.expect("a sound rule");
}

/// No rule but those of the test.
pub async fn only(stage: &Stage, names: &[&str]) {
    for rule in engine::stuck_rules_over(Vec::new()) {
        if !names.contains(&rule.name.as_str()) {
            put(stage, StuckRule { enabled: false, ..rule }).await;
        }
    }
}

/// Look and do what follows.
pub async fn look(stage: &Stage, remedies: Remedies) -> Detection {
    stage.engine.detect(DetectOrder { remedies, scope: Scope::All }).await.expect("a look")
}

/// What a look at an instant would find, as rules; nobody decides anything.
pub fn would_find(stage: &Stage, at: Timestamp) -> Vec<String> {
    let found =
        dry_detect(&stage.browse(), StuckPolicy::default(), DetectOrder::default(), at).expect("a look");
    found.found.into_iter().map(|one| one.rule).collect()
}

/// What rules found; what a node tells of itself is another matter.
pub fn open(stage: &Stage) -> Vec<Alert> {
    all(stage).into_iter().filter(Alert::is_open).collect()
}

pub fn all(stage: &Stage) -> Vec<Alert> {
    let found =
        stage.browse().alerts(&AlertFilter { limit: 1_000, ..AlertFilter::default() }).expect("a read");
    found.into_iter().filter(|alert| alert.rule.is_some()).collect()
}

/// Write into the database what nothing in the engine would.
pub async fn plant(stage: &Stage, text: &str) {
    match stage.database() {
        Database::Sqlite(path) => {
            let file = rusqlite::Connection::open(path).expect("the file opens");
            file.execute_batch(text).expect("it can be written");
        }
        Database::Postgres(url) => {
            let connected = tokio_postgres::connect(&url, tokio_postgres::NoTls).await;
            let (client, connection) = connected.expect("the server lets us in");
            let connection = tokio::spawn(connection);
            client
                .batch_execute(&format!("set search_path to stepfast; {text}"))
                .await
                .expect("it can be written");
            drop(client);
            connection.await.expect("it ends").expect("in good order");
        }
    }
}

/// What happened to an alert: `opened, admin_notified, remedy`.
pub fn history(stage: &Stage, alert: &Alert) -> String {
    let events = stage.browse().alert_history(alert).expect("a read");
    events.iter().map(|event| event.moment.to_string()).collect::<Vec<_>>().join(", ")
}
