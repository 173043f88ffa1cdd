//! What operators rely on: queues, owned groups, the watchdog, ticks, and stopping in good order.

use engine::{Config, Dispatch};
use model::{DispatchGroup, Outcome, Priority, State, limits};
use rules::operator::Verb;
use rules::settle::Mode;
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::Stage;
use store::{AlertFilter, Asked, Retaining};

#[tokio::test]
async fn an_unknown_queue_falls_back_with_a_warning_on_the_step() {
    let mut stage = Stage::new().await;
    let ids = stage
        .create(json!([{"action": "ok", "queue": "candels"}, {"action": "ok", "queue": "stage"},
            {"action": "ok", "priority": "high"}, {"action": "ok", "priority": "high", "queue": "default"}]))
        .await;
    let queues: Vec<String> = ids.iter().map(|id| stage.step(*id).step.queue.to_string()).collect();
    assert_eq!(queues, ["default", "stage", "priority", "default"], "the host's own name is a queue");
    let note = stage.step(ids[0]).detail.note.unwrap();
    assert!(note.contains("`candels` is not known"), "{note}");
    stage.settle().await;
    assert_eq!(stage.states(), "CCCC");
}

#[tokio::test]
async fn children_inherit_high_priority() {
    let mut stage = Stage::new().await;
    stage
        .create(json!([{"action": "ok", "priority": "high", "children": [
            {"action": "ok", "step_key": "child", "children": [{"action": "ok", "step_key": "grandchild"}]}]}]))
        .await;
    for key in ["child", "grandchild"] {
        let step = stage.by_key(key).step;
        assert_eq!((step.priority, &*step.queue), (Priority::High, "priority"), "{key}");
    }
    stage.settle().await;
    assert_eq!(stage.states(), "CCC");
}

#[tokio::test]
async fn a_node_decides_only_for_the_groups_it_owns() {
    let owned = vec![DispatchGroup::new("alpha")];
    let mut stage =
        Stage::with(Config { by_hand: true, owned, host: "stage".into(), ..Config::default() }).await;
    let ids = stage
        .create(
            json!([{"action": "ok", "dispatch_group": "alpha"}, {"action": "ok", "dispatch_group": "beta"}]),
        )
        .await;
    stage.settle().await;
    assert_eq!(stage.states(), "CP");
    let browse = stage.browse();
    let around = browse.circumstances(store::Clock::now(&stage.clock)).unwrap();
    let why = browse.why(&stage.step(ids[1]), &around).unwrap();
    assert!(
        why.iter().any(|w| w.to_string().contains("no node decides for dispatch group `beta`")),
        "{why:?}"
    );
}

#[tokio::test]
async fn a_group_without_progress_is_told_and_untold() {
    let mut stage = Stage::new().await;
    let stuck = stage.create(json!([{"action": "nobody runs this", "dispatch_group": "alpha"}])).await[0];
    // Work that waits by design does not count: due later, and throttled.
    stage.create(json!([{"action": "ok", "dispatch_group": "beta", "delay_ms": 7_200_000}])).await;
    stage.create(json!([{"action": "throttle", "dispatch_group": "gamma"}])).await;
    for _ in 0..12 {
        stage.settle().await;
        stage.advance(Duration::from_secs(61)).await;
    }
    stage.create(json!([{"action": "nobody runs this", "dispatch_group": "delta"}])).await;
    stage.decide(Mode::FixedPoint).await;
    let told: Vec<String> =
        stage.browse().alerts(&AlertFilter::open()).unwrap().into_iter().map(|a| a.entity_id).collect();
    assert_eq!(told, ["alpha"], "fresh work in delta does not count either");
    stage.operate(stuck, Some(Verb::Cancel)).await.unwrap();
    stage.advance(Duration::from_secs(61)).await;
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(stage.browse().open_alerts().unwrap(), 0);
}

#[tokio::test]
async fn a_tick_is_on_record_with_its_phases_and_its_group() {
    let mut stage = Stage::new().await;
    let id = stage
        .create(json!([{"action": "ok", "dispatch_group": "alpha", "children": [
            {"action": "fail"}, {"action": "ok", "index": 2}]}]))
        .await[0];
    stage.settle().await;
    let ticks = stage.browse().ticks(Some("alpha"), 100).unwrap();
    let acted: Vec<&str> = ticks.iter().flat_map(|t| t.phases.iter().map(|(p, _, _)| p.as_str())).collect();
    for phase in ["pick", "dispatch", "cancel_later_indexes", "fail_parents"] {
        assert!(acted.contains(&phase), "{phase} in {acted:?}");
    }
    let group =
        stage.browse().groups().unwrap().into_iter().find(|g| g.dispatch_group.as_str() == "alpha").unwrap();
    assert_eq!(group.current_tick, Some(ticks[0].id));
    assert!(group.last_tick_completed_at.is_some());
    assert!(stage.step(id).step.tick.is_some_and(|tick| ticks.iter().any(|t| t.id == tick)));
}

#[tokio::test]
async fn a_session_that_leaves_gives_back_at_no_cost() {
    let mut stage = Stage::new().await;
    let id = stage.create(json!([{"action": "hold", "max_attempts": 1}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(stage.states(), "R");
    stage.engine.end_session(stage.session.id).await.unwrap();
    let step = stage.step(id).step;
    assert_eq!(
        (step.state, step.attempt, step.failed_attempts, step.lost_attempts),
        (State::Pending, 1, 0, 0),
        "the fence rises, no budget is used"
    );
}

#[tokio::test]
async fn children_of_a_running_parent_wait_until_it_returned() {
    let mut stage = Stage::new().await;
    let parent = stage.create(json!([{"action": "hold"}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    stage.create(json!([{"action": "ok", "parent_step_id": parent}])).await;
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(stage.states(), "RP");
    let outcome = model::Outcome::Complete { response: None };
    stage.report(stage.session.id, parent, 1, outcome).await;
    stage.settle().await;
    assert_eq!(stage.states(), "CC");
}

#[tokio::test]
async fn children_travel_in_the_report() {
    let mut stage = Stage::new().await;
    let parent = stage.create(json!([{"action": "hold", "dispatch_group": "kappa"}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    let children =
        serde_json::from_value(json!([{"action": "ok"}, {"action": "fail"}, {"action": "ok"}])).unwrap();
    let outcome = model::Outcome::Children { response: None, children, success: model::Success::Majority };
    stage.report(stage.session.id, parent, 1, outcome).await;
    stage.settle().await;
    assert_eq!(stage.states(), "CCFC", "a majority is enough for this parent");
    assert!(stage.groups().iter().all(|g| g.as_str() == "kappa"));
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_a_failure_that_says_so() {
    let mut stage = Stage::new().await;
    let id = stage.create(json!([{"action": "hold"}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    let response = Some(format!("\"{}\"", "x".repeat(limits::PAYLOAD_BYTES_MAX)));
    stage.report(stage.session.id, id, 1, model::Outcome::Complete { response }).await;
    let row = stage.step(id);
    assert_eq!(row.step.state, State::Failed);
    assert!(row.detail.error_message.unwrap().contains("store more elsewhere"));
}

#[tokio::test]
async fn ten_thousand_steps_nobody_runs_stand_in_nobodys_way() {
    let mut stage = Stage::new().await;
    for _ in 0..10 {
        let steps: Vec<_> =
            (0..1_000).map(|_| json!({"action": "nobody runs this", "dispatch_group": "alpha"})).collect();
        stage.create(json!(steps)).await;
    }
    let free = stage.create(json!([{"action": "ok", "dispatch_group": "alpha"}])).await[0];
    for _ in 0..25 {
        stage.engine.tick(Mode::FixedPoint, Dispatch::Yes, None).await.unwrap();
        let handed = stage.handed();
        if let [claim] = handed.as_slice() {
            assert_eq!(claim.step, free);
            stage.report(stage.session.id, free, 1, model::Outcome::Complete { response: None }).await;
            return;
        }
    }
    panic!("the free step was not dispatched");
}

/// Found in review: the late report of an old attempt took the new one from its session, and nobody looked for it again.
#[tokio::test]
async fn a_late_report_leaves_the_newer_attempt_with_its_session() {
    let mut stage = Stage::new().await;
    let id = stage.create(json!([{"action": "hold"}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    stage.engine.heartbeat(stage.session.id, u64::MAX, Vec::new()).await.unwrap();
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(stage.step(id).step.attempt, 2);
    let late = model::Outcome::Complete { response: None };
    assert_eq!(stage.report(stage.session.id, id, 1, late).await, engine::ReportAnswer::Late);
    let revoked = stage.engine.heartbeat(stage.session.id, u64::MAX, vec![(id, 2)]).await.unwrap();
    assert_eq!(revoked, Vec::new(), "the second attempt is still held");
    let done = model::Outcome::Complete { response: None };
    assert_eq!(stage.report(stage.session.id, id, 2, done).await, engine::ReportAnswer::Applied);
}

#[tokio::test]
async fn two_retries_of_siblings_at_once_remake_what_was_cut_off_once() {
    let mut stage = Stage::new().await;
    let block = "0199c0de-0000-7000-8000-000000000009";
    let ids = stage
        .create(json!([{"action": "fail", "block_id": block, "index": 1}, {"action": "fail", "block_id": block, "index": 1},
            {"action": "ok", "block_id": block, "index": 2}]))
        .await;
    stage.settle().await;
    assert_eq!(stage.states(), "FFX");
    let (first, second) = tokio::join!(stage.operate(ids[0], None), stage.operate(ids[1], None));
    assert_eq!((first, second), (Ok(State::Superseded), Ok(State::Superseded)));
    stage.settle().await;
    assert_eq!(stage.states(), "UUUFXF", "one new step for each, and they fail the same way");
}

/// A text of PostgreSQL cannot hold the character zero; the turn that stored such a message failed for ever.
#[tokio::test]
async fn a_message_with_a_zero_in_it_does_not_stop_the_engine() {
    let mut stage = Stage::new().await;
    let id = stage.create(json!([{"action": "hold"}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    let failure = model::Failure { message: "a\0b".into(), trace: Some("\0".into()) };
    stage.report(stage.session.id, id, 1, Outcome::Fail { failure, notify: true }).await;
    let row = stage.step(id);
    assert_eq!(row.step.state, State::Failed);
    let told = row.detail.error_message.expect("a message");
    assert_eq!(told, "the job's error has a NUL character at byte 1: a\\0b");
}

/// Found by the differential run: each database listed rows of one instant in an order of its own.
#[tokio::test]
async fn rows_of_one_instant_are_listed_in_one_order() {
    let mut stage = Stage::new().await;
    let first = stage.session.id;
    let id = stage.create(json!([{"action": "hold", "dispatch_group": "gamma"}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    for outcome in ["skip", "fail", "stop"] {
        let outcome = stepfast_testkit::outcome_of(outcome).unwrap();
        stage.report(first, id, 1, outcome).await;
    }
    let attempts = stage.browse().attempts(id).unwrap();
    let outcomes: Vec<&str> = attempts.iter().map(|a| a.outcome.as_str()).collect();
    assert_eq!(outcomes, ["late", "skipped"], "a second late report at the same instant is the same row");
    stage.join_again().await;
    let sessions: Vec<_> = stage.browse().sessions().unwrap().iter().map(|s| s.id).collect();
    assert_eq!(sessions, [first, stage.session.id]);
    stage
        .create(json!([{"action": "nobody runs this", "dispatch_group": "alpha"},
            {"action": "nobody runs this", "dispatch_group": "beta"}]))
        .await;
    stage.advance(limits::NO_PROGRESS + Duration::from_secs(61)).await;
    let told: Vec<String> =
        stage.browse().alerts(&AlertFilter::open()).unwrap().into_iter().map(|a| a.entity_id).collect();
    assert_eq!(told, ["beta", "alpha"], "the newest first");
}

/// Found by the differential run: what a session lost came back in the order of a hash map.
#[tokio::test]
async fn what_a_session_loses_comes_back_oldest_first() {
    let mut stage = Stage::new().await;
    let steps: Vec<_> = (0..8).map(|_| json!({"action": "hold", "dispatch_group": "alpha"})).collect();
    let made = stage.create(json!(steps)).await;
    let lost = async |stage: &Stage, event: &'static str| {
        let text = "select entity_id from events where event = $1 order by seq desc limit 8";
        let read = move |store: &mut dyn store::Store| {
            let rows = store.reader().rows(text, store::params![event], |row| row.get(0));
            rows.unwrap().into_iter().rev().map(model::StepId::from_bytes).collect::<Vec<_>>()
        };
        stage.engine.with_store(read).await.unwrap()
    };
    stage.decide(Mode::FixedPoint).await;
    stage.engine.heartbeat(stage.session.id, u64::MAX, Vec::new()).await.unwrap();
    assert_eq!(lost(&stage, "lease_lost").await, made, "forgotten by a heartbeat");
    stage.decide(Mode::FixedPoint).await;
    stage.clock.advance(limits::SESSION_LEASE);
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(lost(&stage, "lease_lost").await, made, "its session fell silent");
    stage.join_again().await;
    stage.decide(Mode::FixedPoint).await;
    stage.engine.end_session(stage.session.id).await.unwrap();
    assert_eq!(lost(&stage, "given_back").await, made, "given back");
    stage.join_again().await;
    stage.decide(Mode::FixedPoint).await;
    stage.advance(limits::CLAIM_LOG_AGE).await;
    stage.crash().await;
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(lost(&stage, "lease_lost").await, made, "its engine died");
}

/// Found by the differential run: a step that was looked at, and then purged, was still in hand; the next report on it
/// failed the whole turn.
#[tokio::test]
async fn a_report_on_a_step_that_was_purged_is_only_late() {
    let mut stage = Stage::new().await;
    let id = stage.create(json!([{"action": "hold"}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    let done = || Outcome::Complete { response: None };
    stage.report(stage.session.id, id, 1, done()).await;
    assert!(stage.operate(id, Some(Verb::Cancel)).await.is_err(), "it has ended");
    stage.advance(Duration::from_secs(60)).await;
    let before = store::Clock::now(&stage.clock);
    let purge = store::Retention::Purge { before, only_archive: false, ticks: false };
    let gone = stage
        .engine
        .with_store(move |store| store.retain(purge, Retaining::Done(Asked::by("anna"))))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(gone.steps, 1);
    assert_eq!(stage.report(stage.session.id, id, 1, done()).await, engine::ReportAnswer::Late);
}

/// Found by the differential run: a resolver that a person cancelled and retried before any failure had moved its block on, and
/// those before it were never run.
#[tokio::test]
async fn a_retried_resolver_leaves_none_behind() {
    let mut stage = Stage::new().await;
    stage
        .create(json!([{"action": "ok", "children": [{"action": "hold", "step_key": "charge"},
            {"action": "ok", "kind": "resolve-exception", "index": 1},
            {"action": "ok", "kind": "resolve-exception", "index": 2, "step_key": "second"}]}]))
        .await;
    stage.settle().await;
    let second = stage.by_key("second").step.id;
    assert_eq!(stage.operate(second, Some(Verb::Cancel)).await, Ok(State::Cancelled));
    assert_eq!(stage.operate(second, None).await, Ok(State::Superseded));
    stage.settle().await;
    assert_eq!(stage.states(), "RRNUC");
    let charge = stage.by_key("charge").step.id;
    stage.report(stage.session.id, charge, 1, stepfast_testkit::outcome_of("fail").unwrap()).await;
    stage.settle().await;
    assert_eq!(stage.states(), "FFCUC");
}

/// Found by the differential run: `check` took a child that was ended by hand at the instant its parent ended for one ended
/// afterwards, and did not count it.
#[tokio::test]
async fn a_child_ended_by_hand_counts_for_the_parent_that_ends_with_it() {
    let mut stage = Stage::new().await;
    for success in ["majority", "at_least:2"] {
        stage
            .create(json!([{"action": "ok", "success": success, "children": [{"action": "ok"},
                {"action": "fail"}, {"action": "hold", "step_key": success}]}]))
            .await;
        stage.settle().await;
        let child = stage.by_key(success).step.id;
        assert_eq!(stage.operate(child, Some(Verb::Skip)).await, Ok(State::Skipped));
        stage.settle().await;
    }
    assert_eq!(stage.states(), "CCFKCCFK");
}

#[tokio::test]
async fn a_resolver_that_slept_on_is_ended_by_hand_without_a_word_about_its_parent() {
    let mut stage = Stage::new().await;
    stage
        .create(json!([{"action": "ok", "children": [{"action": "ok"},
            {"action": "ok", "kind": "resolve-exception", "step_key": "at once"},
            {"action": "ok", "kind": "resolve-exception", "step_key": "later"}]}]))
        .await;
    stage.settle().await;
    assert_eq!(stage.states(), "CCNN");
    for (resolver, verb) in [("at once", Verb::Fail), ("later", Verb::Cancel)] {
        let id = stage.by_key(resolver).step.id;
        stage.operate(id, Some(verb)).await.unwrap();
        stage.check();
        stage.advance(Duration::from_secs(1)).await;
    }
    assert_eq!(stage.states(), "CCFX");
}
