//! Polls: when they are made, what ends them, and what it means that nothing came.

use model::{PollVerdict, Reason, State, Timestamp, WorkflowId};
use serde_json::json;
use std::time::Duration;
use stepfast_testkit::Stage;

/// A definition with one poll, whose options are these, and a step that reads what it answered.
pub fn paid(options: &str) -> String {
    format!(
        "
workflow: pay
version: 1.0.0
steps:
  - {{ key: paid, poll: {{ arguments: \"${{input.says}}\", {options} }} }}
  - {{ key: ship, action: echo, arguments: \"${{outputs[?'paid'].orValue('nothing')}}\" }}
"
    )
}

/// When the polls on record were made, in seconds since the first.
pub fn times(stage: &Stage, id: WorkflowId) -> Vec<u64> {
    let polls = stage.browse().polls(stage.step_of(id, "paid")).expect("a read");
    let first = polls.first().map_or(Timestamp(0), |poll| poll.at);
    polls.iter().map(|poll| poll.at.since(first).as_secs()).collect()
}

fn answer(stage: &Stage, id: WorkflowId, key: &str) -> String {
    stage.step(stage.step_of(id, key)).detail.response.unwrap_or_default()
}

async fn pass(stage: &mut Stage, seconds: u64, times: usize) {
    for _ in 0..times {
        stage.advance(Duration::from_secs(seconds)).await;
        stage.settle().await;
    }
}

#[tokio::test]
async fn it_is_polled_until_it_answers_and_the_next_step_reads_the_answer() {
    let mut stage = Stage::new().await;
    let says = json!({"says": ["continue", "continue", "complete"]});
    let id = stage.run(&paid("action: poll, interval: 60s"), says).await;
    assert_eq!(stage.flow(id), "running: paid O");
    let step = stage.step(stage.step_of(id, "paid")).step;
    assert_eq!((step.polls, step.session), (1, None));
    assert_eq!(step.wake_at, Some(stage.clock_now() + Duration::from_secs(60)));
    pass(&mut stage, 59, 1).await;
    assert_eq!(stage.step(step.id).step.polls, 1, "it is not made before its time");
    pass(&mut stage, 1, 1).await;
    assert_eq!(stage.step(step.id).step.polls, 2);
    pass(&mut stage, 60, 1).await;
    assert_eq!(stage.flow(id), "succeeded: paid C, ship C");
    assert_eq!(answer(&stage, id, "ship"), r#"{"polls":3,"previous":2}"#);
    assert_eq!(times(&stage, id), [0, 60, 120]);
    let polls = stage.browse().polls(step.id).unwrap();
    let told: Vec<_> = polls.iter().map(|poll| (poll.number, poll.attempt, poll.verdict)).collect();
    use PollVerdict::{Complete, Continue};
    assert_eq!(told, [(1, 1, Continue), (2, 2, Continue), (3, 3, Complete)]);
    assert_eq!(polls[1].data.as_deref(), Some("2"));
    assert_eq!(
        stage.told(id),
        [
            "workflow.started",
            "poll.attempted paid",
            "poll.attempted paid",
            "poll.attempted paid",
            "poll.completed paid",
            "workflow.succeeded"
        ]
    );
}

#[tokio::test]
async fn one_that_gives_up_fails_by_the_policy_of_its_step() {
    let mut stage = Stage::new().await;
    let yaml = paid("action: poll, interval: 60s");
    let id = stage.run(&yaml, json!({"says": ["continue", "abort"]})).await;
    pass(&mut stage, 60, 1).await;
    assert_eq!(stage.flow(id), "failed: paid F");
    let row = stage.step(stage.step_of(id, "paid"));
    assert_eq!(row.step.reason, Some(Reason::PollAborted));
    assert_eq!(row.detail.error_message.as_deref(), Some("a poll gave up: it is gone"));
    assert_eq!(stage.told(id)[2..4], ["poll.attempted paid", "poll.aborted paid"]);
    let yaml = yaml
        .replace("workflow: pay", "workflow: skip")
        .replace("} }\n  - { key: ship", "}, on_failure: skip_step }\n  - { key: ship");
    assert!(yaml.contains("skip_step"));
    let id = stage.run(&yaml, json!({"says": ["abort"]})).await;
    assert_eq!(stage.flow(id), "succeeded: paid F, ship C");
    assert_eq!(answer(&stage, id, "ship"), "\"nothing\"");
}

#[tokio::test]
async fn the_answer_of_an_action_that_knows_nothing_of_polls_is_judged() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: judged
version: 1.0.0
steps:
  - { key: order, action: echo, arguments: { want: \"${input.want}\" } }
  - key: paid
    poll:
      action: echo
      arguments: { status: open }
      interval: 60s
      until: answer.status == outputs.order.want || polls == input.most
      abort_when: input.want == 'gone' && polls > 1
";
    let id = stage.run(yaml, json!({"want": "open", "most": 9})).await;
    assert_eq!(stage.flow(id), "succeeded: order C, paid C");
    assert_eq!(answer(&stage, id, "paid"), r#"{"status":"open"}"#);
    let id = stage.start("judged", json!({"want": "paid", "most": 3})).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "running: order C, paid O");
    pass(&mut stage, 60, 2).await;
    assert_eq!(stage.flow(id), "succeeded: order C, paid C");
    assert_eq!(times(&stage, id), [0, 60, 120]);
    let id = stage.start("judged", json!({"want": "gone", "most": 3})).await;
    stage.settle().await;
    pass(&mut stage, 60, 1).await;
    assert_eq!(stage.flow(id), "failed: order C, paid F");
    let row = stage.step(stage.step_of(id, "paid"));
    let why = "a poll gave up: `input.want == 'gone' && polls > 1` holds";
    assert_eq!(
        (row.step.reason, row.detail.error_message.as_deref()),
        (Some(Reason::PollAborted), Some(why))
    );
    let id = stage.start("judged", json!({"want": "paid"})).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "failed: order C, paid F");
    let row = stage.step(stage.step_of(id, "paid"));
    assert!(row.detail.error_message.unwrap().starts_with("`until` cannot be told: "));
}

#[tokio::test]
async fn without_until_a_plain_answer_is_the_last() {
    let mut stage = Stage::new().await;
    let id = stage.run(&paid("action: ok"), json!({"says": []})).await;
    assert_eq!(stage.flow(id), "succeeded: paid C, ship C");
    assert_eq!(answer(&stage, id, "ship"), r#"{"ok":true}"#);
}

#[tokio::test]
async fn the_answer_must_be_what_the_step_produces() {
    let mut stage = Stage::new().await;
    let yaml = paid("action: poll, interval: 60s")
        .replace("} }\n  - { key: ship", "}, produces: { schema: { required: [sum] } } }\n  - { key: ship");
    assert!(yaml.contains("required"));
    let id = stage.run(&yaml, json!({"says": ["continue", "complete"]})).await;
    assert_eq!(stage.flow(id), "running: paid O", "what is said on the way may look otherwise");
    pass(&mut stage, 60, 1).await;
    assert_eq!(stage.flow(id), "failed: paid F");
}

#[tokio::test]
async fn waits_grow_and_a_job_may_choose_the_next() {
    let mut stage = Stage::new().await;
    let grows = paid("action: poll, interval: 60s, backoff: 2.0, max_interval: 4m, max_duration: 2h");
    let id = stage.run(&grows, json!({"says": ["continue"]})).await;
    pass(&mut stage, 60, 20).await;
    assert_eq!(times(&stage, id), [0, 60, 180, 420, 660, 900, 1140]);
    let chosen = paid("action: poll, interval: 60s").replace("pay", "chosen");
    let id = stage.run(&chosen, json!({"says": ["continue 10", "continue 600", "complete"]})).await;
    pass(&mut stage, 10, 61).await;
    assert_eq!(stage.flow(id), "succeeded: paid C, ship C");
    assert_eq!(times(&stage, id), [0, 10, 610]);
    let polls = stage.browse().polls(stage.step_of(id, "paid")).unwrap();
    let asked: Vec<_> = polls.iter().map(|poll| poll.next_interval.map(|wait| wait.as_millis())).collect();
    assert_eq!(asked, [Some(10_000), Some(600_000), None]);
}

#[tokio::test]
async fn when_nothing_came_the_definition_says_what_that_means() {
    let mut stage = Stage::new().await;
    let ever = || json!({"says": ["continue"]});
    let fails = paid("action: poll, interval: 60s, max_attempts: 2");
    let id = stage.run(&fails, ever()).await;
    pass(&mut stage, 60, 2).await;
    assert_eq!(stage.flow(id), "failed: paid T");
    let row = stage.step(stage.step_of(id, "paid"));
    assert_eq!(row.detail.error_message.as_deref(), Some("nothing came of 2 polls"));
    assert_eq!((row.step.reason, row.step.polls), (Some(Reason::PollTimedOut), 2));
    assert_eq!(stage.told(id).iter().filter(|told| *told == "poll.timed_out paid").count(), 1);

    let options = "action: poll, interval: 60s, max_duration: 90s, on_timeout: continue_with_default, default: { paid: false }";
    let id = stage.run(&paid(options).replace("pay", "default"), ever()).await;
    pass(&mut stage, 30, 4).await;
    assert_eq!(stage.flow(id), "succeeded: paid C, ship C");
    assert_eq!(times(&stage, id), [0, 60, 90], "the last is when the time is over");
    assert_eq!(answer(&stage, id, "ship"), r#"{"paid":false}"#);
    let row = stage.step(stage.step_of(id, "paid"));
    assert_eq!(row.step.reason, Some(Reason::PollTimedOut));
    assert_eq!(
        row.detail.note.as_deref(),
        Some("nothing came of 3 polls in 90 s; this is its default answer")
    );
}

#[tokio::test]
async fn paused_for_want_of_an_answer_it_is_polled_anew_when_resumed() {
    let mut stage = Stage::new().await;
    let yaml = paid("action: poll, interval: 60s, max_attempts: 2, on_timeout: pause");
    let id = stage.run(&yaml, json!({"says": ["continue"]})).await;
    pass(&mut stage, 60, 3).await;
    assert_eq!(stage.flow(id), "paused: paid T");
    let first = stage.step_of(id, "paid");
    stage.crash().await;
    stage.operate_workflow(id, engine::WorkflowVerb::Resume).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.flow(id), "running: paid U, paid O");
    let second = stage.step_of(id, "paid");
    assert_eq!(stage.step(first).detail.superseded_by, Some(second));
    assert_eq!(stage.step(second).step.polls, 1, "from the start");
    pass(&mut stage, 60, 1).await;
    assert_eq!(stage.flow(id), "paused: paid U, paid T");
}

#[tokio::test]
async fn two_days_of_polls_leave_the_last_on_record() {
    let mut stage = Stage::new().await;
    let options = "action: poll, interval: 30m, max_duration: 2d, keep_last: 5";
    let id = stage.run(&paid(options), json!({"says": ["continue"]})).await;
    let step = stage.step_of(id, "paid");
    for made in 1..97 {
        assert_eq!((stage.step(step).step.polls, stage.flow(id).as_str()), (made, "running: paid O"));
        // Nobody is there meanwhile; whoever comes then finds the next one due.
        stage.clock.advance(Duration::from_secs(1_800));
        stage.join_again().await;
        stage.settle().await;
    }
    assert_eq!(stage.flow(id), "failed: paid T");
    let numbers: Vec<u32> = stage.browse().polls(step).unwrap().iter().map(|poll| poll.number).collect();
    assert_eq!(numbers, [93, 94, 95, 96, 97]);
    assert_eq!(stage.step(step).step.polls, 97);
}

#[tokio::test]
async fn it_stands_beside_a_fan_out_and_on_a_branch() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: beside
version: 1.0.0
steps:
  - key: route
    branch: { choose: input.way, branches: { slow: [paid], fast: [] }, converge: end }
  - { key: paid, poll: { action: poll, arguments: [continue, complete], interval: 60s } }
  - { key: pack, action: ok, each: input.items, after: [] }
  - { key: end, action: echo, arguments: \"${outputs[?'paid'].orValue('none')}\", after: [pack] }
";
    let id = stage.run(yaml, json!({"way": "slow", "items": [1, 2, 3]})).await;
    assert_eq!(stage.flow(id), "running: route C, paid O, pack C");
    pass(&mut stage, 60, 1).await;
    assert_eq!(stage.flow(id), "succeeded: route C, paid C, pack C, end C");
    assert_eq!(answer(&stage, id, "end"), r#"{"polls":2,"previous":1}"#);
    let id = stage.start("beside", json!({"way": "fast", "items": []})).await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: route C, paid K not_on_active_branch, pack C, end C");
    assert_eq!(stage.step(stage.step_of(id, "paid")).step.state, State::Skipped);
}
