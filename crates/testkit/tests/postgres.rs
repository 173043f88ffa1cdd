//! What only a database that nodes share can show.

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

/// Rows by the hundred are copied, fewer go as arrays; nobody can tell which it was.
#[tokio::test]
async fn many_steps_at_once_are_the_same_as_a_few_at_a_time() {
    let stage = stage().await;
    let steps: Vec<serde_json::Value> = (0..600)
        .map(|n| match n % 4 {
            0 => json!({"action": "hold"}),
            1 => json!({"action": "ok", "label": format!("naïve, \\N\t\"{n}\"\n"), "arguments": {"n": [n, null, "\\."]}}),
            2 => json!({"action": "ok", "priority": "high", "delay_ms": 1000 * n, "max_attempts": 9, "retry_delay_ms": 7,
                        "retry_factor": 1.5, "retry_max_delay_ms": 70, "dispatch_group": "gamma"}),
            _ => json!({"action": "ok", "step_key": format!("key {n}"), "relatable_type": "", "relatable_id": "7",
                        "queue": "nowhere"}),
        })
        .collect();
    let at_once = stage.create(json!(steps)).await;
    let mut by_few = Vec::new();
    for few in steps.chunks(50) {
        by_few.extend(stage.create(json!(few)).await);
    }
    assert_eq!(at_once.len(), by_few.len());
    let browse = stage.browse();
    let read = |id| browse.step(id).expect("a read").expect("the step exists");
    for (one, other) in at_once.into_iter().zip(by_few) {
        let (one, other) = (read(one), read(other));
        // Groups go round.
        let dispatch_group = one.step.dispatch_group.clone();
        assert_eq!(
            (model::Step { id: one.step.id, dispatch_group, ..other.step }, other.detail),
            (one.step, one.detail)
        );
    }
}
