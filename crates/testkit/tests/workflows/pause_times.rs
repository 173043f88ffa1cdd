//! Pauses whose time comes: dates, time-outs and what is done then, over days of simulated time.

use model::{TriggerAnswer as A, WorkflowId};
use serde_json::{Value, json};
use std::time::Duration;
use stepfast_testkit::Stage;
use store::Filter;

const DAY: Duration = Duration::from_secs(86_400);
const HOUR: Duration = Duration::from_secs(3_600);

fn yaml(pause: &str) -> String {
    format!(
        "workflow: timed\nversion: 1.0.0\nsteps:\n  - {{ key: ask, action: ok, pause_after: {{ {pause} }} }}\n  - {{ key: end, action: ok }}\n"
    )
}

/// What was told to whoever the definition names.
fn notices(stage: &Stage) -> Vec<Value> {
    let filter = Filter { action: Some("deliver".into()), limit: 100, ascending: true, ..Filter::default() };
    let steps = stage.browse().steps(&filter).expect("a read");
    steps.iter().map(|row| serde_json::from_str(&row.step.arguments).expect("JSON")).collect()
}

fn said(stage: &Stage, id: WorkflowId) -> String {
    stage.workflow(id).message.unwrap_or_default()
}

#[tokio::test]
async fn a_date_fourteen_days_away_comes_by_itself_also_after_a_crash() {
    let mut stage = Stage::new().await;
    let id = stage.run(&yaml("resume_after: 14d"), json!({})).await;
    assert_eq!(stage.flow(id), "paused: ask C");
    assert_eq!(said(&stage, id), "it waits for the time behind `ask`");
    stage.leap(7 * DAY).await;
    stage.crash().await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "paused: ask C");
    stage.leap(7 * DAY + HOUR).await;
    assert_eq!(stage.flow(id), "succeeded: ask C, end C");
    assert!(stage.told(id).contains(&"workflow.auto_resumed ask".into()));
    let early = stage.start("timed", json!({})).await;
    stage.settle().await;
    stage.force(early, None).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.flow(early), "succeeded: ask C, end C", "a person need not wait");
}

#[tokio::test]
async fn after_seven_days_it_fails() {
    let mut stage = Stage::new().await;
    let id = stage.run(&yaml("trigger: boss"), json!({})).await;
    stage.leap(7 * DAY - HOUR).await;
    assert_eq!(stage.flow(id), "paused: ask C");
    stage.leap(2 * HOUR).await;
    assert_eq!(stage.flow(id), "failed: ask C");
    assert_eq!(said(&stage, id), "nobody sent the trigger `boss` within 7d");
    assert_eq!(stage.pauses(id), ["ask 1 timed_out"]);
    stage.crash().await;
    assert_eq!(stage.trigger(id, "boss", json!(1)).await, A::Late("its time was over".into()));
    assert!(stage.told(id).contains(&"trigger.timed_out ask".into()));
}

#[tokio::test]
async fn held_it_has_all_the_time_and_let_go_its_time_is_over() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: anew
version: 1.0.0
steps:
  - { key: ask, action: ok, after: [], pause_after: { trigger: boss, timeout: 1h } }
  - { key: side, action: fail, after: [], on_failure: pause_workflow, retry: { attempts: 1 } }
  - { key: end, action: echo, after: [ask], arguments: \"${outputs.boss}\" }
";
    let id = stage.run(yaml, json!({})).await;
    stage.leap(2 * HOUR).await;
    assert_eq!(stage.pauses(id), ["ask 1 waiting"], "held, it has all the time");
    stage.operate_workflow(id, engine::WorkflowVerb::Resume).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.pauses(id), ["ask 1 timed_out"], "let go, its time is over");
    assert!(stage.flow(id).starts_with("failed"), "{}", stage.flow(id));
}

#[tokio::test]
async fn it_is_reminded_of_so_often_and_then_fails() {
    let mut stage = Stage::new().await;
    let pause = "trigger: boss, timeout: 1d, on_timeout: remind, reminders: 2, notify: { url: \"https://example.com/ask\", signing: approvals }";
    let id = stage.run(&yaml(pause), json!({})).await;
    for n in 1..=2 {
        stage.leap(DAY + HOUR).await;
        assert_eq!(stage.flow(id), "paused: ask C");
        assert_eq!(stage.browse().workflow_pauses(id).unwrap()[0].reminders, n);
        stage.crash().await;
    }
    let told = notices(&stage);
    let kinds: Vec<&str> = told.iter().filter_map(|notice| notice["body"]["type"].as_str()).collect();
    assert_eq!(kinds, ["pause.begun", "pause.reminded", "pause.reminded"]);
    assert_eq!(told[0]["url"], "https://example.com/ask");
    assert_eq!(told[0]["signing"], "approvals");
    assert_eq!(told[0]["body"]["answer"], format!("/trigger/{id}/boss"));
    assert_eq!(told[0]["body"]["page"], format!("/approve/{id}/boss"));
    stage.leap(DAY + HOUR).await;
    assert_eq!(stage.flow(id), "failed: ask C");
    assert_eq!(said(&stage, id), "nobody sent the trigger `boss` within 1d, and 2 more times as long");
}

#[tokio::test]
async fn a_reminded_pause_goes_on_when_somebody_comes() {
    let mut stage = Stage::new().await;
    let id = stage.run(&yaml("trigger: boss, timeout: 1d, on_timeout: remind"), json!({})).await;
    stage.leap(40 * DAY).await;
    let reminders = stage.browse().workflow_pauses(id).unwrap()[0].reminders;
    assert_eq!(reminders, 1, "whoever was away is reminded once");
    assert_eq!(stage.trigger(id, "boss", json!(1)).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: ask C, end C");
}

#[tokio::test]
async fn it_goes_on_with_the_default_and_says_so() {
    let mut stage = Stage::new().await;
    let pause = "trigger: boss, timeout: 2d, on_timeout: auto_approve, default: { ok: true }";
    let yaml =
        yaml(pause).replace("key: end, action: ok", "key: end, action: echo, arguments: \"${outputs.boss}\"");
    let id = stage.run(&yaml, json!({})).await;
    stage.leap(2 * DAY + HOUR).await;
    assert_eq!(stage.flow(id), "succeeded: ask C, end C");
    assert_eq!(stage.workflow(id).output.as_deref(), Some("{\"ok\":true}"));
    assert_eq!(stage.sent(id), ["boss accepted stepfast {\"ok\":true}"]);
    let told = stage.told(id);
    let after: Vec<&str> =
        told.iter().map(String::as_str).filter(|t| t.starts_with("trigger.") || t.contains("auto")).collect();
    assert_eq!(after, ["trigger.timed_out ask", "trigger.received ask", "workflow.auto_resumed ask"]);
    assert!(matches!(stage.trigger(id, "boss", json!(1)).await, A::Consumed(_)));
}

#[tokio::test]
async fn it_is_extended_once() {
    let mut stage = Stage::new().await;
    let id = stage.run(&yaml("trigger: boss, timeout: 1d, on_timeout: extend"), json!({})).await;
    stage.leap(DAY + HOUR).await;
    assert_eq!(stage.flow(id), "paused: ask C");
    stage.leap(DAY + HOUR).await;
    assert_eq!(stage.flow(id), "failed: ask C");
}

#[tokio::test]
async fn the_time_of_the_whole_passes_while_it_waits() {
    let mut stage = Stage::new().await;
    let yaml = yaml("trigger: boss, timeout: 1d").replace("version: 1.0.0", "version: 1.0.0\ntimeout: 1d");
    let yaml = yaml.replace("timeout: 1d }", "timeout: 20h, on_timeout: extend }");
    let id = stage.run(&yaml, json!({})).await;
    stage.leap(DAY + HOUR).await;
    assert_eq!(stage.flow(id), "failed: ask C");
    assert_eq!(said(&stage, id), "it took longer than 1d");
    assert_eq!(stage.pauses(id), ["ask 1 waiting"], "whoever decides about it finds it as it was");
    assert_eq!(stage.trigger(id, "boss", json!(1)).await, A::Accepted, "and what was sent counts");
    assert_eq!(stage.flow(id), "failed: ask C");
}

#[tokio::test]
async fn a_time_out_and_a_trigger_in_one_turn_have_one_winner() {
    let mut stage = Stage::new().await;
    let id = stage.run(&yaml("trigger: boss, timeout: 1d"), json!({})).await;
    stage.clock.advance(DAY + HOUR);
    // Requests are looked at before times.
    assert_eq!(stage.trigger(id, "boss", json!(1)).await, A::Accepted);
    stage.join_again().await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: ask C, end C");
    assert_eq!(stage.pauses(id), ["ask 1 resumed"]);
}
