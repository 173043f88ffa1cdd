//! How much is told: once for each key, so much in a minute and the rest as one, in the commit of what happened.

use super::*;
use engine::EngineError;
use model::Telling;
use rules::operator::Verb;
use rules::settle::Mode;
use std::time::Duration;
use store::{Asked, Database, Retaining, Retention};

#[tokio::test]
async fn what_is_more_than_a_channel_takes_is_counted_and_told_as_one() {
    let mut stage = stage(vec![changed(ops(), |c| c.per_minute = 3)]).await;
    let steps: Vec<Value> = (0..20).map(|_| json!({"action": "fail"})).collect();
    stage.create(json!(steps)).await;
    stage.settle().await;
    assert_eq!(kinds(&stage, "ops").len(), 3);
    let sends = |stage: &Stage| {
        let (_, sends) = stage.browse().channels().unwrap().remove(0);
        (sends.told, sends.gathered, sends.waiting.map(|waiting| waiting.n))
    };
    assert_eq!(sends(&stage), (3, 17, Some(17)));
    stage.advance(Duration::from_secs(30)).await;
    stage.create(json!([{"action": "fail"}])).await;
    stage.settle().await;
    assert_eq!(sends(&stage), (3, 18, Some(18)), "not yet");
    // What waits is on record: whoever comes next tells it.
    stage.crash().await;
    stage.settle().await;
    stage.advance(Duration::from_secs(31)).await;
    stage.settle().await;
    assert_eq!(sends(&stage), (4, 18, None));
    let letter = letters(&stage, "ops").pop().unwrap();
    assert_eq!(
        (&letter["type"], &letter["data"]["title"], &letter["data"]["details"]["kinds"]),
        (&json!("stepfast.notices.gathered"), &json!("and 18 more notices"), &json!({"step.failed": 18}))
    );
    assert_eq!(letter["data"]["severity"], "medium", "as grave as the gravest");
    stage.create(json!([{"action": "fail"}])).await;
    stage.settle().await;
    assert_eq!(kinds(&stage, "ops").len(), 5, "and then it takes more");
}

#[tokio::test]
async fn the_same_key_is_told_again_when_it_was_quiet_for_long_enough() {
    let hour = Duration::from_secs(3_600);
    let mut stage = stage(vec![changed(ops(), |c| c.quiet = hour)]).await;
    let tell = async |stage: &Stage, key: &str| {
        let telling = stage.engine.tell_channel("ops", notice(key, Severity::High)).await.unwrap();
        match telling {
            Telling::Sent { .. } => "sent".to_string(),
            other => format!("{other:?}").to_lowercase(),
        }
    };
    assert_eq!(tell(&stage, "a").await, "sent");
    assert_eq!((tell(&stage, "a").await, tell(&stage, "b").await), ("quiet".into(), "sent".into()));
    stage.crash().await;
    assert_eq!(tell(&stage, "a").await, "quiet", "it is on record");
    stage.advance(Duration::from_secs(3_000)).await;
    assert_eq!(tell(&stage, "a").await, "quiet");
    stage.advance(Duration::from_secs(700)).await;
    assert_eq!((tell(&stage, "a").await, tell(&stage, "a").await), ("sent".into(), "quiet".into()));
    assert_eq!(kinds(&stage, "ops").len(), 3);
    let rows = stage.browse().notices(9).unwrap();
    let of_ours = rows.iter().filter(|row| !row.key.contains("group_no_progress")).count();
    assert_eq!(of_ours, 2, "a row for each key");
    stage.settle().await;
}

#[tokio::test]
async fn a_test_arrives_where_it_may_and_is_refused_where_not() {
    let severe = changed(webhook("severe", "https://example.com/a"), |c| {
        c.min_severity = Severity::High;
        c.kinds = vec!["workflow.failed".into()];
    });
    let stage = stage(vec![severe]).await;
    let refused = stage.engine.test_channel("severe", Severity::Low, "me").await.unwrap();
    assert_eq!(refused, Telling::Refused { why: "it takes nothing below `high`".into() });
    let sent = stage.engine.test_channel("severe", Severity::Critical, "me").await.unwrap();
    assert!(matches!(sent, Telling::Sent { .. }), "{sent:?}");
    assert_eq!(kinds(&stage, "severe"), ["channel.test"]);
    let missing = stage.engine.test_channel("nobody", Severity::Low, "me").await.unwrap_err();
    assert_eq!(missing, EngineError::NoChannel("nobody".into()));
}

#[tokio::test]
async fn retention_takes_the_step_and_what_was_told_stays_known_for_a_month() {
    let mut stage = stage(vec![ops()]).await;
    let tell =
        async |stage: &Stage| stage.engine.tell_channel("ops", notice("a", Severity::High)).await.unwrap();
    let Telling::Sent { step } = tell(&stage).await else { panic!("it is the first") };
    stage.operate(step, Some(Verb::Cancel)).await.unwrap();
    stage.advance(Duration::from_secs(60)).await;
    stage.settle().await;
    let purge = Retention::Purge { before: stage.clock_now(), only_archive: false, ticks: false };
    stage
        .engine
        .with_store(move |store| store.retain(purge, Retaining::Done(Asked::by("anna"))))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(deliveries(&stage, "ops").len(), 0);
    assert_eq!(stage.browse().notices(9).unwrap()[0].step, None);
    stage.check();
    assert_eq!(tell(&stage).await, Telling::Quiet);
    stage.leap(Duration::from_secs(31 * 86_400)).await;
    assert_eq!(stage.browse().notices(9).unwrap().len(), 0, "and then it is forgotten");
    assert!(matches!(tell(&stage).await, Telling::Sent { .. }));
    stage.settle().await;
}

/// The failure, the notice and the step that delivers it are one commit: none is there without the others.
#[tokio::test]
async fn a_turn_that_is_not_stored_tells_nothing() {
    let mut stage = stage(vec![ops()]).await;
    let id = stage.create(json!([{"action": "hold"}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    let claim = stage.handed().remove(0);
    poison(&stage).await;
    let (outcome, session) = (stepfast_testkit::outcome_of("fail").unwrap(), stage.session.id);
    let report = || model::Report {
        session,
        step: id,
        attempt: claim.attempt,
        outcome: outcome.clone(),
        log: Vec::new(),
        delivery: None,
    };
    let refused = stage.engine.report(vec![report()]).await.unwrap_err();
    assert!(matches!(refused, EngineError::Unstorable(_) | EngineError::Unavailable(_)), "{refused:?}");
    assert_eq!((deliveries(&stage, "ops").len(), stage.browse().notices(9).unwrap().len()), (0, 0));
    assert_ne!(stage.step(id).step.state, model::State::Failed);
    cure(&stage).await;
    let mut look = tokio::time::interval(Duration::from_millis(20));
    while stage.engine.report(vec![report()]).await.is_err() {
        look.tick().await;
    }
    stage.settle().await;
    assert_eq!((kinds(&stage, "ops").len(), stage.browse().notices(9).unwrap().len()), (1, 1), "once");
}

/// From now on the database takes no notice.
async fn poison(stage: &Stage) {
    match stage.database() {
        Database::Sqlite(path) => {
            let trigger = "create trigger poison before insert on notices
                           begin select raise(abort, 'poison is refused'); end;";
            rusqlite::Connection::open(path).unwrap().execute_batch(trigger).unwrap();
        }
        Database::Postgres(_) => {
            change(stage, "alter table notices add constraint poison check (kind = 'x')").await
        }
    }
}

async fn cure(stage: &Stage) {
    match stage.database() {
        Database::Sqlite(path) => {
            rusqlite::Connection::open(path).unwrap().execute_batch("drop trigger poison").unwrap();
        }
        Database::Postgres(url) => {
            use store::postgres::tokio_postgres::{NoTls, connect};
            let (client, connection) = connect(&url, NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute("alter table stepfast.notices drop constraint poison").await.unwrap();
        }
    }
}

async fn change(stage: &Stage, text: &'static str) {
    let made = stage.engine.with_store(move |store| store.reader().execute(text, &[]).map(drop));
    made.await.unwrap().unwrap();
}
