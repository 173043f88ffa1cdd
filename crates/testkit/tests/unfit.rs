//! What a database refuses is told to whoever asked for it, and the engine goes on: the same on both databases.

use engine::{Config, EngineError, Operation, Verb};
use model::{Breaker, Claim, NewStep, Outcome, SessionOffer, State};
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::Stage;
use store::Database;
use worker::{Registry, Runner, RunnerConfig};

/// From now on the database takes no step with this value in this column.
async fn poison(stage: &Stage, column: &str, value: &str) {
    match stage.database() {
        Database::Sqlite(path) => {
            let both = ["insert", "update"].map(|verb| {
                format!(
                    "create trigger poison_{verb} before {verb} on steps when new.{column} = '{value}'
                     begin select raise(abort, 'poison is refused'); end;"
                )
            });
            let file = rusqlite::Connection::open(path).expect("the file opens");
            file.execute_batch(&both.concat()).expect("triggers are made");
        }
        Database::Postgres(_) => {
            let text = format!(
                "alter table steps add constraint poison check ({column} is distinct from '{value}')"
            );
            let made = stage.engine.with_store(move |store| store.reader().execute(&text, &[]).map(|_| ()));
            made.await.expect("it is asked").expect("the constraint is made");
        }
    }
}

/// Ask until it answers as wanted.
async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    for _ in 0..200 {
        if let Some(answer) = ask().await {
            return answer;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    panic!("it never came to be that {what}");
}

async fn by_itself() -> Stage {
    Stage::with(Config { host: "stage".into(), ..Config::default() }).await
}

#[tokio::test]
async fn a_row_that_is_refused_fails_its_turn_and_the_engine_goes_on() {
    let stage = by_itself().await;
    poison(&stage, "action", "poison").await;
    // What is still on its way when the turn before it fails is asked to come again.
    let refused = until("the row is refused", || async {
        match stage.engine.create(vec![NewStep::of("poison")]).await {
            Err(EngineError::Unavailable(_)) => None,
            other => Some(other.expect_err("it cannot be stored")),
        }
    })
    .await;
    assert!(matches!(refused, EngineError::Unstorable(_)), "{refused:?}");
    let told = refused.to_string();
    assert!(
        told.starts_with("nothing was stored: the database refuses") && told.contains("poison"),
        "{told}"
    );
    assert!(stage.engine.is_healthy(), "the store is well");
    until("others are stored", || async { stage.engine.create(vec![NewStep::of("hold")]).await.ok() }).await;
    assert!(stage.engine.is_healthy());
}

#[tokio::test]
async fn who_shares_a_turn_with_a_refused_row_may_ask_again() {
    let stage = Stage::new().await;
    poison(&stage, "action", "poison").await;
    let (one, other) = tokio::join!(
        stage.engine.create(vec![NewStep::of("poison")]),
        stage.engine.create(vec![NewStep::of("hold")])
    );
    assert!(matches!(one, Err(EngineError::Unstorable(_) | EngineError::Unavailable(_))), "{one:?}");
    assert!(!matches!(other, Err(EngineError::Unstorable(_))), "{other:?}");
    until("the sound one is stored", || async { stage.engine.create(vec![NewStep::of("hold")]).await.ok() })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_is_refused_becomes_a_failure_that_says_why() {
    let stage = by_itself().await;
    let mut registry = Registry::default();
    registry.raw("answer", |claim: Claim| {
        std::future::ready(Outcome::Complete { response: Some(claim.arguments.to_string()) })
    });
    let config = RunnerConfig {
        host: "runner".into(),
        queues: vec!["default".into()],
        concurrency: 10,
        ..RunnerConfig::default()
    };
    poison(&stage, "response", "[6]").await;
    let runner = Runner::start(stage.engine.clone(), registry, config).await.expect("a runner");
    let steps: Vec<_> = (0..10).map(|n| json!({"action": "answer", "arguments": [n]})).collect();
    let ids = stage.create(json!(steps)).await;
    let ended = || async { stage.states().chars().all(|s| s != 'P' && s != 'R').then_some(()) };
    until("every step has ended", ended).await;
    assert_eq!(stage.states(), "CCCCCCFCCC");
    let told = stage.step(ids[6]).detail.error_message.expect("a message");
    assert!(told.starts_with("what came of it could not be stored") && told.contains("poison"), "{told}");
    runner.stop(Duration::ZERO).await;
    assert!(stage.engine.is_healthy());
}

#[tokio::test]
async fn a_nul_is_refused_by_name_before_it_reaches_a_database() {
    let mut stage = Stage::new().await;
    let faults = |refused: EngineError| match refused {
        EngineError::Invalid(faults) => faults.iter().map(|f| f.field.clone()).collect::<Vec<_>>().join(" "),
        other => panic!("{other:?}"),
    };
    let nul = || Some("a\0b".to_string());
    let step = NewStep { label: nul(), step_key: nul(), ..NewStep::of("ok\0") };
    let refused = stage.engine.create(vec![step]).await.expect_err("NUL");
    assert_eq!(faults(refused), "steps[0].step_key steps[0].label steps[0].action");
    let held = stage.create(json!([{"action": "hold", "arguments": "\u{0}"}])).await[0];
    assert_eq!(&*stage.step(held).step.arguments, "\"\\u0000\"", "written as JSON it is no such character");
    let (by, why) = ("me\0".to_string(), "\0".to_string());
    let verb = Some(Verb::Cancel);
    let refused =
        stage.engine.operate(Operation { step: held, by, why, verb, dry_run: false, expected: None }).await;
    assert_eq!(faults(refused.expect_err("NUL")), "by why");
    let breaker = Breaker { why: nul(), ..Breaker::default() };
    assert_eq!(faults(stage.engine.set_breaker(None, breaker, "me").await.expect_err("NUL")), "why");
    let offer = SessionOffer {
        host: "h\0".into(),
        queues: vec![],
        actions: vec!["\0".into()],
        capacity: 1,
        remote: false,
    };
    assert_eq!(faults(stage.engine.join(offer).await.err().expect("NUL")), "actions host");
    stage.decide(rules::settle::Mode::FixedPoint).await;
    let claim = stage.handed().remove(0);
    let response = Some("\"\0\"".into());
    stage.report(stage.session.id, held, claim.attempt, Outcome::Complete { response }).await;
    let row = stage.step(held);
    assert_eq!(row.step.state, State::Failed);
    let told = row.detail.error_message.expect("a message");
    assert_eq!(told, "the job's response has a NUL character at byte 1: \"\\0\"");
}
