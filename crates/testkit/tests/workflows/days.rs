//! Days of simulated time: approvals of a week, dates in a fortnight, and two days of polls, with crashes on the way.

use super::polls::paid;
use model::{State, TriggerAnswer as A, WorkflowState};
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::Stage;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// Time passes in which nobody works, and the process that was there does not come back.
async fn crash_after(stage: &mut Stage, span: Duration) {
    stage.clock.advance(span);
    stage.crash().await;
    stage.settle().await;
}

#[tokio::test]
async fn two_days_of_polls_every_five_minutes_are_577_polls() {
    let mut stage = Stage::new().await;
    let options = "action: poll, interval: 5m, max_duration: 2d, keep_last: 3";
    let id = stage.run(&paid(options), json!({"says": ["continue"]})).await;
    let step = stage.step_of(id, "paid");
    let began = stage.clock_now();
    for made in 1..577 {
        assert_eq!(stage.step(step).step.polls, made);
        stage.clock.advance(5 * MINUTE);
        stage.join_again().await;
        stage.settle().await;
    }
    assert_eq!(stage.flow(id), "failed: paid T");
    let polls = stage.browse().polls(step).expect("a read");
    let kept: Vec<(u32, u64)> =
        polls.iter().map(|poll| (poll.number, poll.at.since(began).as_secs())).collect();
    let last = |n: u32| (577 - n, (2 * DAY - n * 5 * MINUTE).as_secs());
    assert_eq!(kept, [last(2), last(1), last(0)], "each in its time, and the last when the time is over");
}

#[tokio::test]
async fn two_days_of_polls_that_come_more_and_more_seldom_end_in_time() {
    let mut stage = Stage::new().await;
    let options = "action: poll, interval: 5m, backoff: 2.0, max_interval: 12h, max_duration: 2d, on_timeout: continue_with_default, default: { paid: false }";
    let id = stage.run(&paid(options), json!({"says": ["continue"]})).await;
    let step = stage.step_of(id, "paid");
    let mut waits = Vec::new();
    while stage.step(step).step.state == State::Polling {
        let due = stage.step(step).step.wake_at.expect("it waits");
        let wait = due.since(stage.clock_now());
        waits.push(wait.as_secs() / 60);
        stage.leap(wait).await;
    }
    assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 640, 720, 720, 165], "the last is when the time is over");
    assert_eq!(waits.iter().sum::<u64>(), 2 * 24 * 60);
    assert_eq!(stage.flow(id), "succeeded: paid C, ship C");
}

#[tokio::test]
async fn two_days_of_polls_pass_while_it_is_held() {
    let mut stage = Stage::new().await;
    let id =
        stage.run(&paid("action: poll, interval: 1h, max_duration: 2d"), json!({"says": ["continue"]})).await;
    stage.operate_workflow(id, engine::WorkflowVerb::Pause).await.expect("it runs");
    stage.leap(3 * DAY).await;
    let step = stage.step_of(id, "paid");
    assert_eq!(
        (stage.step(step).step.polls, stage.workflow(id).state),
        (1, WorkflowState::Paused),
        "held, nobody polls"
    );
    stage.crash().await;
    stage.operate_workflow(id, engine::WorkflowVerb::Resume).await.expect("it is held");
    stage.settle().await;
    assert_eq!(stage.flow(id), "failed: paid T", "its time went on meanwhile");
}

const BESIDE: &str = "
workflow: beside
version: 1.0.0
steps:
  - { key: ask, action: ok, after: [], pause_after: { trigger: boss, timeout: 7d, on_timeout: extend } }
  - { key: rest, action: ok, after: [], pause_after: { resume_after: 14d } }
  - { key: end, action: ok, after: [ask, rest] }
";

#[tokio::test]
async fn a_week_for_somebody_beside_a_fortnight_for_everybody() {
    let mut stage = Stage::new().await;
    let id = stage.run(BESIDE, json!({})).await;
    for day in 1..=6 {
        crash_after(&mut stage, DAY).await;
        assert_eq!(stage.pauses(id), ["ask 1 waiting", "rest 1 waiting"], "day {day}");
    }
    crash_after(&mut stage, DAY + HOUR).await;
    assert_eq!(stage.browse().workflow_pauses(id).expect("a read")[0].reminders, 1, "it has another week");
    crash_after(&mut stage, 6 * DAY).await;
    assert_eq!(stage.pauses(id), ["ask 1 waiting", "rest 1 waiting"]);
    assert_eq!(stage.trigger(id, "boss", json!(1)).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.workflow(id).message.as_deref(), Some("it waits for the time behind `rest`"));
    crash_after(&mut stage, DAY).await;
    assert_eq!(stage.flow(id), "succeeded: ask C, rest C, end C");
}

#[tokio::test]
async fn seven_days_of_reminders_and_then_it_is_undone() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: reminded
version: 1.0.0
on_failure: auto_compensate
steps:
  - { key: ask, action: ok, compensation: { action: ok }, pause_after: { trigger: boss, timeout: 1d, on_timeout: remind, reminders: 6 } }
  - { key: end, action: ok }
";
    let id = stage.run(yaml, json!({})).await;
    for day in 1..=6 {
        crash_after(&mut stage, DAY).await;
        assert_eq!(stage.browse().workflow_pauses(id).expect("a read")[0].reminders, day);
        assert_eq!(stage.workflow(id).state, WorkflowState::Paused);
    }
    crash_after(&mut stage, DAY).await;
    assert_eq!(
        (stage.workflow(id).state, stage.undoing(id).as_str()),
        (WorkflowState::Compensated, "ask succeeded")
    );
    assert_eq!(stage.pauses(id), ["ask 1 timed_out"]);
    let told = stage.told(id);
    assert_eq!(told.iter().filter(|told| *told == "trigger.timed_out ask").count(), 7);
}

/// A retry that is days away is a row, not somebody who waits.
#[tokio::test]
async fn what_is_retried_by_itself_may_be_a_week_away() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: patient
version: 1.0.0
on_failure: { strategy: auto_retry, max_retries: 2, delay: 7d, backoff: 2.0, max_delay: 14d }
steps:
  - { key: a, action: fail, retry: { attempts: 1 } }
";
    let id = stage.run(yaml, json!({})).await;
    let due = |stage: &Stage| stage.workflow(id).aftermath.and_then(|after| after.auto_retry_at);
    for (runs, days) in [(1, 7), (2, 14)] {
        let wait = due(&stage).expect("it is retried").since(stage.clock_now());
        let within = days * DAY * 9 / 10..=days * DAY;
        assert!(within.contains(&wait), "run {runs}: {wait:?}");
        crash_after(&mut stage, wait - HOUR).await;
        assert_eq!(stage.flow(id).matches("a ").count(), runs, "not before its time");
        crash_after(&mut stage, HOUR).await;
        assert_eq!(stage.flow(id).matches("a ").count(), runs + 1);
    }
    assert_eq!((stage.flow(id).as_str(), due(&stage)), ("failed: a U, a U, a F", None));
}
