//! The step dispatcher end to end: real store, real turn, simulated time.

use engine::{Config, ReportAnswer};
use model::{Breaker, DispatchGroup, Minute, Outcome, State, Timestamp, limits};
use rules::operator::Verb;
use rules::settle::Mode;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use stepfast_testkit::Stage;

#[tokio::test]
async fn a_tree_runs_to_its_end_and_the_parent_follows() {
    let mut stage = Stage::new().await;
    stage
        .create(json!([{"action": "ok", "step_key": "order", "children": [
            {"action": "ok", "index": 1}, {"action": "ok", "index": 1}, {"action": "ok", "index": 2}]}]))
        .await;
    assert_eq!(stage.states(), "PPPP");
    stage.settle().await;
    assert_eq!(stage.states(), "CCCC");
    assert_eq!(stage.by_key("order").detail.response.as_deref(), Some("{\"ok\":true}"));
}

#[tokio::test]
async fn early_return_takes_one_phase_a_tick() {
    let mut stage = Stage::new().await;
    stage
        .create(json!([{"action": "ok", "children": [
            {"action": "fail", "index": 1}, {"action": "ok", "index": 2}]}]))
        .await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        stage.tick(Mode::EarlyReturn).await;
        seen.push(stage.states());
    }
    assert_eq!(seen, ["RPP", "RFP", "RFX", "FFX"]);
}

#[tokio::test]
async fn a_resolver_runs_before_the_failure_climbs() {
    let mut stage = Stage::new().await;
    stage
        .create(json!([{"action": "ok", "children": [
            {"action": "fail"}, {"action": "ok", "kind": "resolve-exception"}]}]))
        .await;
    let mut seen = Vec::new();
    for _ in 0..5 {
        stage.tick(Mode::EarlyReturn).await;
        seen.push(stage.states());
    }
    assert_eq!(seen, ["RPN", "RFN", "RFP", "RFC", "FFC"]);
}

#[tokio::test]
async fn a_failed_parent_takes_its_children_down_and_names_why() {
    let mut stage = Stage::new().await;
    stage
        .create(
            json!([{"action": "fail", "children": [{"action": "ok", "step_key": "c"}, {"action": "ok"}]}]),
        )
        .await;
    stage.settle().await;
    assert_eq!(stage.states(), "FFF");
    assert_eq!(stage.by_key("c").step.reason, Some(model::Reason::ParentFailed));
}

#[tokio::test]
async fn a_retry_waits_and_the_last_attempt_fails() {
    let mut stage = Stage::new().await;
    let id = stage.create(json!([{"action": "retry", "max_attempts": 3, "retry_delay_ms": 10_000}])).await[0];
    for attempt in 1..=2 {
        stage.settle().await;
        let row = stage.step(id);
        assert_eq!(
            (row.step.state, row.step.attempt, row.step.failed_attempts),
            (State::Pending, attempt, attempt)
        );
        stage.settle().await;
        assert_eq!(stage.step(id).step.attempt, attempt, "not before it is due");
        stage.advance(Duration::from_secs(11)).await;
    }
    assert_eq!(stage.step(id).step.priority, model::Priority::High, "past half its budget it is raised");
    stage.settle().await;
    let row = stage.step(id);
    assert_eq!((row.step.state, row.step.failed_attempts), (State::Failed, 3));
    assert_eq!(row.step.reason, Some(model::Reason::MaxAttempts));
    assert_eq!(row.detail.error_message.as_deref(), Some("retry it did"));
    assert_eq!(stage.browse().attempts(id).unwrap().len(), 3);
}

#[tokio::test]
async fn a_throttled_step_costs_nothing() {
    let mut stage = Stage::new().await;
    let id = stage.create(json!([{"action": "throttle", "max_attempts": 1}])).await[0];
    for _ in 0..5 {
        stage.settle().await;
        assert!(stage.step(id).step.throttled);
        stage.advance(Duration::from_secs(61)).await;
    }
    let row = stage.step(id);
    assert_eq!((row.step.state, row.step.failed_attempts), (State::Pending, 0));
    assert_eq!(row.detail.was_throttled, Some(true));
}

#[tokio::test]
async fn a_late_report_is_recorded_and_not_applied() {
    let mut stage = Stage::new().await;
    let id = stage.create(json!([{"action": "hold"}])).await[0];
    stage.tick(Mode::FixedPoint).await;
    assert_eq!(stage.states(), "R");
    assert_eq!(stage.operate(id, Some(Verb::Cancel)).await, Ok(State::Cancelled));
    let answer = stage.report(stage.session.id, id, 1, Outcome::Complete { response: None }).await;
    assert_eq!(answer, ReportAnswer::Late);
    let row = stage.step(id);
    assert_eq!((row.step.state, row.detail.late_reports), (State::Cancelled, Some(1)));
}

#[tokio::test]
async fn a_session_that_stops_beating_loses_its_steps() {
    let mut stage = Stage::new().await;
    let id = stage.create(json!([{"action": "hold"}])).await[0];
    stage.tick(Mode::FixedPoint).await;
    let lost = stage.session.id;
    stage.clock.advance(limits::SESSION_LEASE + Duration::from_secs(1));
    stage.decide(Mode::FixedPoint).await;
    let row = stage.step(id);
    assert_eq!((row.step.state, row.step.attempt, row.step.lost_attempts), (State::Pending, 1, 1));
    assert_eq!(stage.report(lost, id, 1, Outcome::Complete { response: None }).await, ReportAnswer::Late);
}

#[tokio::test]
async fn a_heartbeat_keeps_what_it_names_and_loses_the_rest() {
    let mut stage = Stage::new().await;
    let ids = stage.create(json!([{"action": "hold"}, {"action": "hold"}])).await;
    stage.tick(Mode::FixedPoint).await;
    let revoked = stage.engine.heartbeat(stage.session.id, u64::MAX, vec![(ids[0], 1)]).await.unwrap();
    assert!(revoked.is_empty());
    assert_eq!(stage.step(ids[0]).step.state, State::Running);
    let lost = stage.step(ids[1]).step;
    assert_eq!((lost.lost_attempts, lost.failed_attempts), (1, 0));
    let revoked = stage.engine.heartbeat(stage.session.id, 0, vec![(ids[0], 1), (ids[1], 1)]).await.unwrap();
    assert_eq!(revoked, vec![(ids[1], 1)], "it is told what it no longer holds");
}

#[tokio::test]
async fn a_crash_loses_nothing_and_counts_the_lost_attempt() {
    let mut stage = Stage::new().await;
    let held = stage.create(json!([{"action": "hold"}])).await[0];
    stage.create(json!([{"action": "ok"}, {"action": "ok", "delay_ms": 5_000}])).await;
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(stage.states(), "RRP", "the claim is durable before the job starts");
    stage.crash().await;
    let row = stage.step(held);
    assert_eq!((row.step.attempt, row.step.lost_attempts), (1, 1));
    stage.advance(Duration::from_secs(6)).await;
    stage.settle().await;
    assert_eq!(stage.states(), "RCC");
    assert_eq!(stage.step(held).step.attempt, 2);
}

#[tokio::test]
async fn a_step_that_kills_its_worker_is_stopped_in_the_end() {
    let mut stage = Stage::new().await;
    let id = stage.create(json!([{"action": "hold"}])).await[0];
    for _ in 0..=limits::LOST_ATTEMPTS_MAX {
        stage.decide(Mode::FixedPoint).await;
        stage.crash().await;
    }
    stage.decide(Mode::FixedPoint).await;
    let row = stage.step(id);
    assert_eq!((row.step.state, row.step.reason), (State::Stopped, Some(model::Reason::LostTooOften)));
}

#[tokio::test]
async fn a_lost_parent_with_children_is_not_run_again() {
    let mut stage = Stage::new().await;
    stage.create(json!([{"action": "hold", "children": [{"action": "ok"}]}])).await;
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(stage.states(), "RP");
    stage.crash().await;
    stage.settle().await;
    assert_eq!(stage.states(), "FF");
}

/// The row of a parent that said nothing is written when it ends; until then the log knows that it has run.
#[tokio::test]
async fn a_parent_that_waits_by_log_alone_survives_a_crash() {
    let mut stage = Stage::new().await;
    let tree = json!([{"action": "quiet", "step_key": "p", "children": [
        {"action": "quiet", "step_key": "c", "children": [{"action": "ok"}]}]}]);
    stage.create(tree).await;
    for level in ["RPP", "RRP"] {
        stage.tick(Mode::FixedPoint).await;
        assert_eq!(stage.states(), level);
        stage.crash().await;
        assert_eq!(stage.states(), level);
        stage.check();
    }
    let row = stage.by_key("p").step;
    assert_eq!((row.parked, row.session, row.attempt, row.version), (true, None, 1, 0));
    stage.settle().await;
    assert_eq!(stage.states(), "CCC");
    assert_eq!(stage.by_key("p").step.attempt, 1, "it ran once");
}

#[tokio::test]
async fn a_parent_that_waits_long_gets_its_own_row() {
    let mut stage = Stage::new().await;
    stage.create(json!([{"action": "quiet", "step_key": "p", "children": [{"action": "hold"}]}])).await;
    stage.settle().await;
    assert_eq!(stage.by_key("p").step.version, 0, "only the log knows");
    stage.advance(limits::PARK_LOG_AGE).await;
    stage.tick(Mode::FixedPoint).await;
    let row = stage.by_key("p").step;
    assert_eq!((row.parked, row.attempt, row.version), (true, 1, 1));
    stage.crash().await;
    assert_eq!(stage.by_key("p").step.state, State::Running);
}

#[tokio::test]
async fn a_cascade_is_cut_into_turns_and_still_comes_to_its_end() {
    let mut stage = Stage::new().await;
    let chain =
        (0..60).fold(json!({"action": "ok"}), |inner, _| json!({"action": "quiet", "children": [inner]}));
    for _ in 0..=limits::MOVES_PER_TURN / 60 {
        stage.create(json!([chain])).await;
    }
    for _ in 0..65 {
        stage.tick(Mode::FixedPoint).await;
    }
    let live = stage.browse().totals().unwrap().tallies;
    assert!(live.iter().all(|(key, n)| key.state == State::Completed || *n == 0), "{live:?}");
}

#[tokio::test]
async fn the_breaker_holds_dispatch_and_nothing_else() {
    let mut stage = Stage::new().await;
    stage.create(json!([{"action": "ok", "children": [{"action": "hold", "step_key": "c"}]}])).await;
    stage.tick(Mode::FixedPoint).await;
    stage.tick(Mode::FixedPoint).await;
    assert_eq!(stage.states(), "RR");
    let off = Breaker { off: true, why: Some("deploy".into()), ..Breaker::default() };
    stage.engine.set_breaker(None, off, "test").await.unwrap();
    stage.create(json!([{"action": "ok"}])).await;
    stage.settle().await;
    assert_eq!(stage.states(), "RRP");
    assert_eq!(
        stage.browse().in_flight(None).unwrap(),
        1,
        "a parent that waits for its children does not count"
    );
    let held = stage.by_key("c").step;
    stage.report(stage.session.id, held.id, held.attempt, Outcome::Complete { response: None }).await;
    stage.settle().await;
    assert_eq!(stage.states(), "CCP", "parents end while nothing is dispatched");
    assert_eq!(stage.browse().in_flight(None).unwrap(), 0);
    stage.engine.set_breaker(None, Breaker::default(), "test").await.unwrap();
    stage.settle().await;
    assert_eq!(stage.states(), "CCC");
}

#[tokio::test]
async fn a_breaker_with_an_end_turns_itself_on() {
    let mut stage = Stage::new().await;
    let until = Some(store::Clock::now(&stage.clock) + Duration::from_secs(60));
    let scope = Some(DispatchGroup::new("alpha"));
    stage
        .engine
        .set_breaker(scope, Breaker { off: true, until, ..Breaker::default() }, "test")
        .await
        .unwrap();
    stage
        .create(
            json!([{"action": "ok", "dispatch_group": "alpha"}, {"action": "ok", "dispatch_group": "beta"}]),
        )
        .await;
    stage.settle().await;
    assert_eq!(stage.states(), "PC");
    stage.advance(Duration::from_secs(61)).await;
    stage.settle().await;
    assert_eq!(stage.states(), "CC");
}

#[tokio::test]
async fn roots_go_round_robin_also_from_eight_clients() {
    let stage = Stage::new().await;
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let engine = stage.engine.clone();
        clients.spawn(async move {
            for _ in 0..25 {
                engine.create(vec![model::NewStep::of("ok")]).await.unwrap();
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    let mut counts: BTreeMap<DispatchGroup, usize> = BTreeMap::new();
    stage.groups().into_iter().for_each(|g| *counts.entry(g).or_default() += 1);
    assert_eq!(counts.values().copied().collect::<Vec<_>>(), vec![20; 10]);
}

#[tokio::test]
async fn a_refused_request_creates_nothing() {
    let stage = Stage::new().await;
    let bad = json!([{"action": "ok"}, {"action": ""}, {"action": "ok", "dispatch_group": "omega"}]);
    let steps: Vec<model::NewStep> = serde_json::from_value(bad).unwrap();
    let refused = stage.engine.create(steps).await.unwrap_err().to_string();
    assert!(refused.contains("steps[1].action: is empty") && refused.contains("omega"), "{refused}");
    assert_eq!(stage.states(), "");
}

#[tokio::test]
async fn a_retry_by_hand_takes_the_place_and_revives_what_was_cut_off() {
    let mut stage = Stage::new().await;
    let ids = stage
        .create(json!([
            {"action": "fail", "block_id": "0199c0de-0000-7000-8000-000000000001", "index": 1},
            {"action": "ok", "block_id": "0199c0de-0000-7000-8000-000000000001", "index": 2}]))
        .await;
    stage.settle().await;
    assert_eq!(stage.states(), "FX");
    let refused = stage.operate(ids[0], Some(Verb::Complete)).await.unwrap_err();
    assert!(refused.contains("that is an end"), "{refused}");
    stage.operate(ids[0], None).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.states(), "UUFX", "the same work fails the same way, in new rows");
    let old = stage.step(ids[0]);
    assert!(old.detail.superseded_by.is_some());
}

#[tokio::test]
async fn a_big_block_is_swept_in_pages() {
    let mut stage = Stage::new().await;
    let parent = stage.create(json!([{"action": "hold"}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    for _ in 0..3 {
        let children: Vec<_> = (0..900).map(|_| json!({"action": "ok", "parent_step_id": parent})).collect();
        stage.create(json!(children)).await;
    }
    stage.operate(parent, Some(Verb::Cancel)).await.unwrap();
    stage.decide(Mode::FixedPoint).await;
    let browse = stage.browse();
    let count = |state: State| -> i64 {
        browse.totals().unwrap().tallies.iter().filter(|(k, _)| k.state == state).map(|(_, n)| n).sum()
    };
    assert!(count(State::Pending) > 0, "not all in one turn");
    for _ in 0..4 {
        stage.decide(Mode::FixedPoint).await;
    }
    assert_eq!((count(State::Pending), count(State::Cancelled)), (0, 2701));
}

#[tokio::test]
async fn max_per_tick_caps_a_group_and_says_so() {
    let config = Config { by_hand: true, max_per_tick: 3, host: "stage".into(), ..Config::default() };
    let mut stage = Stage::with(config).await;
    let steps: Vec<_> = (0..5).map(|_| json!({"action": "ok", "dispatch_group": "alpha"})).collect();
    stage.create(json!(steps)).await;
    assert_eq!(stage.tick(Mode::FixedPoint).await.dispatched, 3);
    stage.advance(Duration::from_secs(2)).await;
    assert_eq!(stage.tick(Mode::FixedPoint).await.dispatched, 2);
    stage.advance(Duration::from_secs(2)).await;
    stage.decide(Mode::FixedPoint).await;
    let ticks = stage.browse().ticks(Some("alpha"), 10).unwrap();
    let (capped, left_over): (u64, u64) =
        ticks.iter().fold((0, 0), |(c, l), t| (c + t.capped, l + t.left_over));
    assert_eq!((capped, left_over), (1, 1));
    assert!(ticks.iter().any(|t| t.phases.iter().any(|(p, rows, _)| p == "dispatch" && *rows == 3)));
}

#[tokio::test]
async fn what_a_node_did_is_on_record_once_its_minute_is_over() {
    let mut stage = Stage::new().await;
    stage.create(json!([{"action": "ok"}, {"action": "ok"}, {"action": "fail"}])).await;
    stage.settle().await;
    let minutes = |stage: &Stage| stage.browse().minutes(Timestamp(0)).unwrap();
    assert_eq!(minutes(&stage), [], "it is not over");
    stage.advance(Duration::from_secs(60)).await;
    stage.decide(Mode::FixedPoint).await;
    let mut all = Minute::default();
    minutes(&stage).iter().for_each(|minute| all.merge(minute));
    assert_eq!((all.created, all.started, all.completed, all.failed, all.ended), (3, 3, 2, 1, 0));
    assert_eq!((all.waits.count(), all.runs.count()), (3, 3));
    let before = minutes(&stage).len();
    stage.advance(Duration::from_secs(60)).await;
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(minutes(&stage).len(), before, "a minute in which nothing happened has no row");
    // The sweep that comes every hour forgets them.
    stage.leap(limits::MINUTES_KEPT + Duration::from_secs(2 * 3_600)).await;
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(minutes(&stage), []);
    stage.check();
}
