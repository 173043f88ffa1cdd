//! Steps that are made once under a key, on whichever database.

use engine::{EngineError, ExecutionError, OnceError};
use model::NewStep;
use serde_json::json;
use stepfast_testkit::Stage;

fn steps(json: serde_json::Value) -> Vec<NewStep> {
    serde_json::from_value(json).expect("steps as JSON")
}

#[tokio::test]
async fn the_same_key_and_steps_are_the_same_steps() {
    let mut stage = Stage::new().await;
    let order = || steps(json!([{"action": "hold", "arguments": {"a": 1, "b": 2}}, {"action": "hold"}]));
    let first = stage.engine.create_once("order-7", order()).await.expect("made");
    let alike = steps(json!([{"arguments": {"b": 2, "a": 1}, "action": "hold"}, {"action": "hold"}]));
    let again = stage.engine.create_once("order-7", alike).await.expect("made before");
    assert_eq!((first.replayed, again.replayed), (false, true));
    assert_eq!((first.answer.len(), &again.answer), (2, &first.answer));
    stage.crash().await;
    let later = stage.engine.create_once("order-7", order()).await.expect("made before the crash");
    assert_eq!(later.answer, first.answer);
    let other = stage.engine.create_once("order-8", order()).await.expect("made under another key");
    assert_ne!(other.answer, first.answer);
    assert_eq!(stage.states(), "PPPP");
}

#[tokio::test]
async fn other_steps_under_the_key_are_a_conflict_and_make_nothing() {
    let stage = Stage::new().await;
    stage.engine.create_once("order-7", vec![NewStep::of("hold")]).await.expect("made");
    let refused = stage.engine.create_once("order-7", vec![NewStep::of("ok")]).await;
    assert!(matches!(refused, Err(OnceError::Execution(ExecutionError::Conflict { .. }))), "{refused:?}");
    assert_eq!(stage.states(), "P");
}

#[tokio::test]
async fn of_many_who_ask_together_one_makes_them() {
    let stage = Stage::new().await;
    let ask = || stage.engine.create_once("order-7", vec![NewStep::of("hold")]);
    let (a, b, c) = tokio::join!(ask(), ask(), ask());
    let all = [a, b, c].map(|made| made.expect("an answer"));
    assert_eq!(all.iter().filter(|made| made.replayed).count(), 2);
    assert!(all.iter().all(|made| made.answer == all[0].answer));
    assert_eq!(stage.states(), "P");
}

#[tokio::test]
async fn steps_that_are_refused_are_refused_every_time() {
    let stage = Stage::new().await;
    for _ in 0..5 {
        let refused = stage.engine.create_once("order-7", vec![NewStep::of(" ")]).await;
        assert!(matches!(refused, Err(OnceError::Operation(EngineError::Invalid(_)))), "{refused:?}");
    }
    assert_eq!(stage.states(), "");
}

/// What the comment on `create_once` owns up to: the record is not the effect.
#[tokio::test]
async fn a_crash_between_the_steps_and_their_record_makes_them_again() {
    let mut stage = Stage::new().await;
    // Nobody runs it, so it may wait that long.
    let order = || vec![NewStep::of("ghost")];
    let ask = engine::Ask::new("steps.create", "order-7").input(&order());
    let Ok(engine::Begin::Run(begun)) = stage.engine.executions().begin(&ask).await else {
        panic!("not begun")
    };
    stage.engine.create(order()).await.expect("made");
    stage.crash().await;
    stage.advance(begun.lease).await;
    let again = stage.engine.create_once("order-7", order()).await.expect("made again");
    assert!(!again.replayed);
    assert_eq!(stage.states(), "PP");
}
