//! What only a database that nodes share can show.

mod differential;

use engine::{Config, Engine, EngineError, EngineThread};
use model::{NewStep, Outcome, State, limits};
use rules::settle::Mode;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use stepfast_testkit::{SERVER, Stage};
use store::sqlite::Holder;

async fn stage() -> Stage {
    assert!(
        std::env::var(SERVER).is_ok(),
        "set {SERVER} to the address of a server; `cargo xtask test` starts one"
    );
    Stage::new().await
}

/// Another node on the same database, with the same clock.
fn second(stage: &Stage) -> Result<(Engine, EngineThread), EngineError> {
    let store = stage.database().open(Some(Arc::new(stage.clock.clone())), Holder::default())?;
    Engine::start(store, Config { host: "second".into(), ..stage.config.clone() })
}

/// Ask until it answers as wanted; the engine waits a little before it looks at its store again.
async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    for _ in 0..200 {
        if let Some(answer) = ask().await {
            return answer;
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
    panic!("{what}: not within 10 s");
}

#[tokio::test]
async fn a_second_node_stands_by_while_the_first_lives() {
    let stage = stage().await;
    let refused = second(&stage).err().expect("the groups are taken").to_string();
    assert!(refused.contains("belongs to the node on stage") && refused.contains("stands by"), "{refused}");
}

#[tokio::test]
async fn a_node_that_stalls_is_taken_over_and_fenced() {
    let mut stage = stage().await;
    let held = stage.create(json!([{"action": "hold"}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    let claim = stage.handed().remove(0);
    stage.clock.advance(limits::GROUP_LEASE);
    let (other, thread) = second(&stage).expect("the lease is over");
    // The first does not know yet. Nothing it decides now is stored.
    let refused = stage.engine.create(vec![NewStep::of("ok")]).await.expect_err("it was fenced");
    assert!(matches!(refused, EngineError::Unavailable(_)), "{refused:?}");
    let late = stage.engine.report(vec![model::Report {
        session: stage.session.id,
        step: held,
        attempt: claim.attempt,
        outcome: Outcome::Complete { response: None },
    }]);
    assert!(late.await.is_err(), "its report is not taken");
    other.tick(Mode::FixedPoint, engine::Dispatch::Yes, None).await.expect("the second decides");
    let row = stage.step(held);
    assert_eq!((row.step.state, row.step.lost_attempts), (State::Pending, 1));
    other.stop().await.expect("it gives the groups back");
    thread.join();
    // The first comes back by itself.
    until("the first decides again", || async { stage.engine.create(vec![NewStep::of("ok")]).await.ok() })
        .await;
    stage.join_again().await;
    stage.settle().await;
    assert_eq!(stage.states(), "RC", "`hold` runs again under the first, and what was refused is not there");
}
