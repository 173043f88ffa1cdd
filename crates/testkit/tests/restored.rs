//! A database that is put back from a copy runs nothing again before somebody has confirmed it.
#![allow(clippy::unwrap_used)]

use model::{Breaker, State, StepId};
use rules::settle::Mode;
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::{Kept, Stage};

const HOUR: Duration = Duration::from_secs(3_600);

/// One step is ready and one is held, when a copy is made. Then both are done, and an hour goes by.
async fn an_hour_ago() -> (Stage, Kept, [StepId; 2]) {
    let mut stage = Stage::new().await;
    let held = stage.create(json!([{"action": "hold"}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(stage.handed().len(), 1);
    let ready = stage.create(json!([{"action": "ok"}])).await[0];
    let copy = stage.crash_and_copy().await;
    stage.settle().await;
    assert_eq!(stage.step(ready).step.state, State::Completed);
    stage.advance(HOUR).await;
    (stage, copy, [held, ready])
}

async fn breaker(stage: &Stage, off: bool) {
    let breaker = Breaker { off, why: Some("looked at it".into()), ..Breaker::default() };
    stage.engine.set_breaker(None, breaker, "ada").await.unwrap();
}

#[tokio::test]
async fn an_hour_old_copy_dispatches_nothing_until_somebody_confirms() {
    let (stage, copy, [held, ready]) = an_hour_ago().await;
    let mut restored = stage.restore(copy).await;
    // Also the next process waits, and time ends nothing.
    for _ in 0..2 {
        restored.settle().await;
        assert_eq!(restored.handed(), []);
        for step in [held, ready] {
            assert_eq!(
                restored.step(step).step.state,
                State::Pending,
                "nobody holds it, and nobody is given it"
            );
        }
        let breaker = restored.browse().breaker().unwrap();
        assert!(breaker.is_off(restored.clock_now()));
        let why = breaker.why.unwrap();
        assert!(why.contains("is a copy of") && why.contains("stepfast breaker on"), "{why}");
        let known = restored.browse().restored().unwrap().unwrap();
        assert!(known.taken_at + HOUR <= restored.clock_now() && known.held_at.is_some());
        restored.check();
        restored.advance(HOUR).await;
        restored.crash().await;
    }
    breaker(&restored, false).await;
    assert_eq!(restored.browse().restored().unwrap(), None);
    restored.settle().await;
    assert_eq!(restored.step(ready).step.state, State::Completed);
    // It is confirmed once, and not held again.
    restored.crash().await;
    assert!(!restored.browse().breaker().unwrap().off);
    let verbs: Vec<String> = restored.browse().audit(9).unwrap().into_iter().map(|(_, e)| e.verb).collect();
    assert_eq!(verbs, ["breaker on", "breaker off"]);
}

/// Switching it off, or one dispatch group on, confirms nothing.
#[tokio::test]
async fn only_switching_the_whole_on_confirms() {
    let (stage, copy, [_, ready]) = an_hour_ago().await;
    let mut restored = stage.restore(copy).await;
    breaker(&restored, true).await;
    let group = restored.step(ready).step.dispatch_group;
    restored.engine.set_breaker(Some(group), Breaker::default(), "ada").await.unwrap();
    assert!(restored.browse().restored().unwrap().is_some());
    restored.settle().await;
    assert_eq!(restored.step(ready).step.state, State::Pending);
}

/// Whoever held something before the copy was made, and comes to the copy, comes too late.
#[tokio::test]
async fn who_held_something_before_holds_nothing_in_a_copy() {
    let (stage, copy, [held, _]) = an_hour_ago().await;
    let before: Vec<u64> = stage.browse().groups().unwrap().iter().map(|group| group.epoch).collect();
    let old = stage.session.id;
    let restored = stage.restore(copy).await;
    let sessions = restored.browse().sessions().unwrap();
    let living: Vec<_> = sessions.iter().map(|session| session.id).collect();
    assert_eq!(living, [restored.session.id], "all others have ended");
    let answer = restored.report(old, held, 1, model::Outcome::Complete { response: None }).await;
    assert_ne!(answer, engine::ReportAnswer::Applied);
    let after: Vec<u64> = restored.browse().groups().unwrap().iter().map(|group| group.epoch).collect();
    assert!(before.iter().zip(&after).all(|(before, after)| after >= before), "{before:?} {after:?}");
}

/// A process that dies and comes back is no copy.
#[tokio::test]
async fn a_database_that_stayed_where_it_was_goes_on() {
    let (mut stage, _copy, _) = an_hour_ago().await;
    stage.crash().await;
    assert_eq!(stage.browse().restored().unwrap(), None);
    let more = stage.create(json!([{"action": "ok"}])).await[0];
    stage.settle().await;
    assert_eq!(stage.step(more).step.state, State::Completed);
}
