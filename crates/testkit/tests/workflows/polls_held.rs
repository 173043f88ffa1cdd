//! Polls that meet trouble: lost workers, errors, pauses, ends, restarts, lines, and many that wait.

use super::polls::{paid, times};
use engine::WorkflowVerb as V;
use model::{Breaker, Outcome, PollVerdict, Reason, State, limits};
use rules::settle::Mode;
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::Stage;
use store::PollFilter;

const MINUTE: Duration = Duration::from_secs(60);

async fn pass(stage: &mut Stage, span: Duration) {
    stage.advance(span).await;
    stage.settle().await;
}

#[tokio::test]
async fn a_poll_that_is_lost_with_its_worker_is_made_again_and_counted_once() {
    let mut stage = Stage::new().await;
    let yaml = paid("action: poll, interval: 60s");
    let id = stage.run(&yaml, json!({"says": ["continue", "hold", "complete"]})).await;
    let step = stage.step_of(id, "paid");
    pass(&mut stage, MINUTE).await;
    assert_eq!(stage.flow(id), "running: paid R");
    let (old, attempt) = (stage.session.id, stage.step(step).step.attempt);
    stage.clock.advance(limits::SESSION_LEASE + limits::SESSION_LEASE);
    stage.join_again().await;
    stage.decide(Mode::FixedPoint).await;
    let claim = stage.handed().remove(0);
    let poll = claim.poll.clone().expect("it is a poll");
    assert_eq!((claim.attempt, poll.number, poll.previous.as_deref()), (attempt + 1, 2, Some("1")));
    let again = || Outcome::Continue { data: None, after: None };
    assert_eq!(stage.report(old, step, attempt, again()).await, engine::ReportAnswer::Late);
    assert_eq!(stage.step(step).step.polls, 1, "what comes late is no poll");
    stage.report(stage.session.id, step, claim.attempt, again()).await;
    pass(&mut stage, MINUTE).await;
    assert_eq!(stage.flow(id), "succeeded: paid C, ship C");
    assert_eq!(stage.browse().polls(step).unwrap().len(), 3);
}

#[tokio::test]
async fn lost_now_and_then_over_a_long_time_it_goes_on() {
    let mut stage = Stage::new().await;
    let id = stage.run(&paid("action: poll, interval: 60s"), json!({"says": ["hold"]})).await;
    let step = stage.step_of(id, "paid");
    for polls in 0..5 {
        let lost = stage.step(step).step.attempt;
        stage.clock.advance(2 * limits::SESSION_LEASE);
        stage.join_again().await;
        stage.settle().await;
        assert_eq!(stage.step(step).step.attempt, lost + 1);
        let go_on = Outcome::Continue { data: None, after: None };
        stage.report(stage.session.id, step, lost + 1, go_on).await;
        assert_eq!(stage.step(step).step.polls, polls + 1);
        stage.join_again().await;
        pass(&mut stage, MINUTE).await;
    }
    assert_eq!(stage.flow(id), "running: paid R");
}

#[tokio::test]
async fn a_poll_that_fails_is_tried_again_and_each_has_all_its_attempts() {
    let mut stage = Stage::new().await;
    let yaml = paid("action: poll, interval: 60s, max_attempts: 4")
        .replace("} }\n  - { key: ship", "}, retry: { attempts: 2, delay: 1s } }\n  - { key: ship");
    let id = stage.run(&yaml, json!({"says": ["shaky"]})).await;
    for _ in 0..200 {
        pass(&mut stage, Duration::from_secs(2)).await;
    }
    assert_eq!(stage.flow(id), "failed: paid T");
    let row = stage.step(stage.step_of(id, "paid"));
    assert_eq!((row.step.polls, row.step.attempt), (4, 8));
    let id = stage.start("pay", json!({"says": ["continue", "retry"]})).await;
    stage.settle().await;
    for _ in 0..40 {
        pass(&mut stage, Duration::from_secs(2)).await;
    }
    assert_eq!(stage.flow(id), "failed: paid F");
    let row = stage.step(stage.step_of(id, "paid"));
    assert_eq!((row.step.reason, row.step.polls), (Some(Reason::MaxAttempts), 1));
}

#[tokio::test]
async fn held_with_its_workflow_it_is_not_polled_and_then_at_once() {
    let mut stage = Stage::new().await;
    let says = json!({"says": ["continue", "hold", "continue", "complete"]});
    let id = stage.run(&paid("action: poll, interval: 60s"), says).await;
    let step = stage.step_of(id, "paid");
    stage.operate_workflow(id, V::Pause).await.unwrap();
    pass(&mut stage, 5 * MINUTE).await;
    assert_eq!(stage.flow(id), "paused: paid O");
    assert_eq!(stage.step(step).step.reason, Some(Reason::WorkflowHeld));
    stage.crash().await;
    stage.settle().await;
    assert_eq!(stage.step(step).step.polls, 1);
    stage.operate_workflow(id, V::Resume).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.flow(id), "running: paid R", "it is polled at once");
    // Asked while the workflow runs, it answers while that is held.
    stage.operate_workflow(id, V::Pause).await.unwrap();
    let attempt = stage.step(step).step.attempt;
    let go_on = Outcome::Continue { data: None, after: None };
    stage.report(stage.session.id, step, attempt, go_on).await;
    stage.join_again().await;
    pass(&mut stage, 5 * MINUTE).await;
    assert_eq!((stage.flow(id).as_str(), stage.step(step).step.polls), ("paused: paid O", 2));
    stage.operate_workflow(id, V::Resume).await.unwrap();
    stage.settle().await;
    pass(&mut stage, MINUTE).await;
    assert_eq!(stage.flow(id), "succeeded: paid C, ship C");
}

#[tokio::test]
async fn the_end_of_its_workflow_is_its_end() {
    let mut stage = Stage::new().await;
    let yaml = paid("action: poll, interval: 60s");
    let id = stage.run(&yaml, json!({"says": ["continue"]})).await;
    stage.operate_workflow(id, V::Cancel).await.unwrap();
    pass(&mut stage, MINUTE).await;
    assert_eq!(stage.flow(id), "cancelled: paid X workflow_cancelled");
    let yaml = yaml
        .replace("pay", "short")
        .replace("version: 1.0.0", "version: 1.0.0\ntimeout: 5m")
        .replace("interval: 60s", "interval: 60s, max_duration: 4m");
    let id = stage.run(&yaml, json!({"says": ["continue 400"]})).await;
    pass(&mut stage, 3 * MINUTE).await;
    assert_eq!(stage.flow(id), "running: paid O");
    pass(&mut stage, 3 * MINUTE).await;
    assert_eq!(stage.flow(id), "failed: paid O", "nothing of it starts any more");
    let step = stage.step_of(id, "paid");
    pass(&mut stage, 30 * MINUTE).await;
    assert_eq!((stage.step(step).step.polls, stage.step(step).step.reason), (1, Some(Reason::WorkflowHeld)));
    stage.operate_workflow(id, V::Cancel).await.unwrap();
    assert_eq!(stage.flow(id), "cancelled: paid X workflow_cancelled");
}

#[tokio::test]
async fn a_restart_finds_it_where_it_was() {
    let mut stage = Stage::new().await;
    let says = json!({"says": ["continue", "hold", "complete"]});
    let id = stage.run(&paid("action: poll, interval: 10m"), says).await;
    let step = stage.step_of(id, "paid");
    let due = stage.step(step).step.wake_at;
    stage.crash().await;
    stage.settle().await;
    assert_eq!((stage.flow(id).as_str(), stage.step(step).step.wake_at), ("running: paid O", due));
    pass(&mut stage, 10 * MINUTE).await;
    assert_eq!(stage.flow(id), "running: paid R");
    stage.crash().await;
    stage.settle().await;
    let row = stage.step(step).step;
    assert_eq!((row.state, row.attempt, row.polls), (State::Running, 3, 1), "the lost one is made again");
    let go_on = Outcome::Continue { data: Some("7".into()), after: None };
    stage.report(stage.session.id, step, 3, go_on).await;
    stage.crash().await;
    pass(&mut stage, 10 * MINUTE).await;
    assert_eq!(stage.flow(id), "succeeded: paid C, ship C");
    let answer = stage.step(stage.step_of(id, "ship")).detail.response;
    assert_eq!(answer.as_deref(), Some(r#"{"polls":3,"previous":7}"#));
}

#[tokio::test]
async fn its_time_is_over_also_if_nobody_polls_it() {
    let mut stage = Stage::new().await;
    let ever = || json!({"says": ["continue"]});
    let id = stage.run(&paid("action: poll, interval: 60s, max_duration: 90s"), ever()).await;
    let options =
        "action: poll, interval: 60s, max_duration: 90s, on_timeout: continue_with_default, default: 0";
    let other = stage.run(&paid(options).replace("pay", "default"), ever()).await;
    let off = Breaker { off: true, ..Breaker::default() };
    stage.engine.set_breaker(None, off, "test").await.unwrap();
    pass(&mut stage, 2 * MINUTE).await;
    assert_eq!(stage.flow(id), "running: paid O", "the last poll may wait a little");
    let why = stage.browse().circumstances(stage.clock_now()).unwrap();
    let row = stage.step(stage.step_of(id, "paid"));
    let reasons = stage.browse().why(&row, &why).unwrap();
    assert!(reasons.iter().any(|why| why.to_string().contains("breaker is off")), "{reasons:?}");
    pass(&mut stage, 31 * Duration::from_secs(1)).await;
    assert_eq!(stage.flow(id), "failed: paid T");
    assert!(stage.flow(other).starts_with("running: paid C"), "{}", stage.flow(other));
    assert_eq!(times(&stage, id), [0]);
    stage.engine.set_breaker(None, Breaker::default(), "test").await.unwrap();
    stage.settle().await;
    assert_eq!(stage.flow(other), "succeeded: paid C, ship C");
}

#[tokio::test]
async fn in_a_line_it_keeps_its_place_between_polls() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: line
version: 1.0.0
steps:
  - key: paid
    poll: { action: poll, arguments: \"${input.says}\", interval: 60s, until: \"polls == 2 && input.says[0] == 'quiet'\" }
    message_group: \"'customer'\"
    mode: block_on_error
";
    let first = stage.run(yaml, json!({"says": ["continue", "continue", "hold"]})).await;
    let second = stage.start("line", json!({"says": ["quiet"]})).await;
    stage.settle().await;
    let polls = |stage: &Stage, id| {
        let parent = stage.step(stage.step_of(id, "paid")).step.child_block.expect("it waits for one");
        stage.browse().items(parent, None, 10).unwrap().remove(0).step
    };
    assert_eq!((polls(&stage, first).state, polls(&stage, second).state), (State::Polling, State::Pending));
    stage.crash().await;
    pass(&mut stage, MINUTE).await;
    assert_eq!((polls(&stage, first).polls, polls(&stage, second).attempt), (2, 0), "it goes first");
    pass(&mut stage, MINUTE).await;
    let asked = polls(&stage, first);
    let end = Outcome::Fail { failure: model::Failure { message: "no".into(), trace: None }, notify: true };
    stage.report(stage.session.id, asked.id, asked.attempt, end).await;
    stage.settle().await;
    assert_eq!(stage.flow(first), "failed: paid F");
    assert_eq!(polls(&stage, second).state, State::Pending, "its failure holds back those behind it");
    stage.operate_workflow(second, V::Cancel).await.unwrap();
    stage.settle().await;
}

#[tokio::test]
async fn in_a_line_a_plain_answer_is_judged_too() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: line
version: 1.0.0
steps:
  - { key: order, action: echo, arguments: { most: 3 } }
  - key: paid
    poll: { action: echo, arguments: 7, interval: 60s, until: polls == outputs.order.most }
    message_group: \"'customer'\"
    mode: next_on_error
  - { key: end, action: echo, arguments: \"${outputs.paid}\" }
";
    let id = stage.run(yaml, json!({})).await;
    pass(&mut stage, MINUTE).await;
    pass(&mut stage, MINUTE).await;
    assert_eq!(stage.flow(id), "succeeded: order C, paid C, end C");
    assert_eq!(stage.step(stage.step_of(id, "end")).detail.response.as_deref(), Some("7"));
}

#[tokio::test]
async fn those_that_wait_are_listed_by_their_time_and_cost_a_turn_nothing() {
    let mut stage = Stage::new().await;
    stage.define(&paid("action: poll, interval: 2h")).await;
    for n in 0..40_u64 {
        let wait = format!("continue {}", 7_200 - 60 * n);
        stage.start("pay", json!({"says": [wait]})).await;
    }
    stage.settle().await;
    let all = stage.browse().polling(&PollFilter { limit: 100, ..PollFilter::default() }).unwrap();
    assert_eq!(all.len(), 40);
    assert!(all.windows(2).all(|two| two[0].step.wake_at < two[1].step.wake_at));
    let last = (all[24].step.wake_at.unwrap(), all[24].step.id);
    let page = PollFilter { after: Some(last), limit: 10, ..PollFilter::default() };
    let behind: Vec<_> = stage.browse().polling(&page).unwrap().iter().map(|row| row.step.id).collect();
    let expected: Vec<_> = all[25..35].iter().map(|row| row.step.id).collect();
    assert_eq!(behind, expected);
    let soon = PollFilter { due_at: all[3].step.wake_at, limit: 100, ..PollFilter::default() };
    assert_eq!(stage.browse().polling(&soon).unwrap().len(), 4);
    let versions = |stage: &Stage| -> Vec<u64> {
        let all = stage.browse().polling(&PollFilter { limit: 100, ..PollFilter::default() }).unwrap();
        all.iter().map(|row| row.step.version).collect()
    };
    let before = versions(&stage);
    pass(&mut stage, 10 * MINUTE).await;
    assert_eq!(versions(&stage), before, "nobody touches what is not due");
}

#[tokio::test]
async fn what_is_no_poll_cannot_answer_as_one() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: plain
version: 1.0.0
steps:
  - { key: a, action: poll, arguments: [continue] }
";
    let id = stage.run(yaml, json!({})).await;
    assert_eq!(stage.flow(id), "failed: a F");
    let message = stage.step(stage.step_of(id, "a")).detail.error_message.unwrap();
    assert!(message.contains("it is not polled"), "{message}");
    let id = stage.run(&paid("action: poll, interval: 60s"), json!({"says": ["hold"]})).await;
    let step = stage.step_of(id, "paid");
    let children = Outcome::Children {
        response: None,
        children: vec![model::NewStep::of("ok")],
        success: Default::default(),
    };
    stage.report(stage.session.id, step, 1, children).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "failed: paid F");
    assert_eq!(stage.step(step).step.child_block, None);
    assert!(stage.browse().polls(step).unwrap().iter().all(|poll| poll.verdict != PollVerdict::Complete));
}

#[tokio::test]
async fn recovery_finds_nothing_while_all_is_well() {
    let mut stage = Stage::new().await;
    let id = stage
        .run(&paid("action: poll, interval: 60s, max_duration: 9h"), json!({"says": ["continue"]}))
        .await;
    let recover = |older: Duration| engine::PollRecovery { older, by: "test".into(), dry_run: false };
    stage.advance(10 * MINUTE).await;
    assert_eq!(stage.engine.recover_polls(recover(60 * MINUTE)).await.unwrap(), []);
    let off = Breaker { off: true, ..Breaker::default() };
    stage.engine.set_breaker(None, off, "test").await.unwrap();
    assert_eq!(stage.engine.recover_polls(recover(MINUTE)).await.unwrap(), [], "nobody could have begun it");
    stage.engine.set_breaker(None, Breaker::default(), "test").await.unwrap();
    // Nothing has ticked since it was due.
    let step = stage.step_of(id, "paid");
    let tried = engine::PollRecovery { dry_run: true, ..recover(MINUTE) };
    assert_eq!(stage.engine.recover_polls(tried).await.unwrap(), [step]);
    assert_eq!(stage.engine.recover_polls(recover(MINUTE)).await.unwrap(), [step]);
    stage.settle().await;
    assert_eq!(stage.step(step).step.polls, 2);
    let audit = stage.browse().audit(10).unwrap();
    assert!(audit.iter().any(|(_, entry)| entry.verb == "recover poll"), "{audit:?}");
}
