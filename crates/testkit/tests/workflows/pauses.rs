//! Pauses and their triggers: what lets a workflow go on, what does not, and in which order they may come.

use engine::{PauseToken, TokenOrder, TriggerOrder, WorkflowVerb as V};
use model::{Outcome, PausedBy, SessionOffer, TriggerAnswer as A, WorkflowId};
use rules::settle::Mode;
use serde_json::{Value, json};
use stepfast_testkit::{Stage, everything, holds};

const ASK: &str = "
workflow: ask
version: 1.0.0
steps:
  - key: ask
    action: echo
    arguments: { least: 3 }
    pause_after:
      trigger: boss
      payload: { schema: { type: object, required: [ok] } }
      resume_when: payload.ok == true && payload.n >= outputs.ask.least
  - { key: end, action: echo, requires: [boss], arguments: { by: \"${outputs.boss.by}\", n: \"${outputs.boss.n}\" } }
";

fn yes() -> Value {
    json!({"ok": true, "n": 5, "by": "ada"})
}

fn output(stage: &Stage, id: WorkflowId) -> Value {
    serde_json::from_str(stage.workflow(id).output.as_deref().unwrap_or("null")).expect("JSON")
}

#[tokio::test]
async fn what_is_sent_lets_it_go_on_and_is_an_output() {
    let mut stage = Stage::new().await;
    let id = stage.run(ASK, json!({})).await;
    assert_eq!(stage.flow(id), "paused: ask C");
    let workflow = stage.workflow(id);
    assert_eq!(workflow.message.as_deref(), Some("it waits for the trigger `boss`"));
    assert_eq!(workflow.paused_by, Some(PausedBy::Trigger));
    assert_eq!(stage.pauses(id), ["ask 1 waiting"]);
    assert_eq!(stage.trigger(id, "boss", yes()).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: ask C, end C");
    assert_eq!(output(&stage, id), json!({"by": "ada", "n": 5}));
    assert_eq!(stage.pauses(id), ["ask 1 resumed"]);
    assert_eq!(stage.workflow(id).paused_by, None);
    assert_eq!(
        stage.told(id),
        [
            "workflow.started",
            "workflow.awaiting_trigger ask",
            "workflow.paused",
            "trigger.received ask",
            "workflow.resumed",
            "workflow.succeeded"
        ]
    );
}

#[tokio::test]
async fn what_does_not_fit_is_kept_as_rejected_and_it_waits_on() {
    let mut stage = Stage::new().await;
    let id = stage.run(ASK, json!({})).await;
    let unfit = stage.trigger(id, "boss", json!({"n": 1})).await;
    assert_eq!(unfit, A::Unfit("\"ok\" is a required property".into()));
    let A::StillWaiting(why) = stage.trigger(id, "boss", json!({"ok": true, "n": 2})).await else { panic!() };
    assert!(why.contains("does not hold"), "{why}");
    let refused = stage.try_trigger(id, "bos", yes()).await.unwrap_err().to_string();
    assert!(refused.contains("never waits for a trigger `bos`; it waits for `boss`"), "{refused}");
    stage.crash().await;
    stage.settle().await;
    assert_eq!(stage.flow(id), "paused: ask C");
    assert_eq!(stage.trigger(id, "boss", yes()).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: ask C, end C");
    let verdicts: Vec<String> =
        stage.sent(id).iter().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(verdicts, ["boss rejected", "boss rejected", "boss accepted"]);
    assert_eq!(stage.told(id).iter().filter(|told| **told == "trigger.rejected ask").count(), 2);
}

#[tokio::test]
async fn what_comes_early_is_kept_and_looked_at_when_the_pause_begins() {
    let mut stage = Stage::new().await;
    let yaml = ASK
        .replace("workflow: ask", "workflow: early")
        .replace("action: echo\n    arguments: { least: 3 }", "action: hold");
    let yaml = yaml.replace(" && payload.n >= outputs.ask.least", "");
    let id = stage.run(&yaml, json!({})).await;
    assert!(matches!(stage.trigger(id, "boss", json!({})).await, A::Unfit(_)), "the shape is known before");
    assert_eq!(stage.trigger(id, "boss", json!({"ok": false})).await, A::Early);
    assert_eq!(stage.trigger(id, "boss", yes()).await, A::Early);
    assert_eq!(stage.trigger(id, "boss", yes()).await, A::Early);
    stage.crash().await;
    stage.settle().await;
    stage.settle().await;
    stage.done(id, "ask").await;
    assert_eq!(stage.flow(id), "succeeded: ask C, end C");
    assert_eq!(output(&stage, id)["by"], "ada");
    let verdicts: Vec<String> =
        stage.sent(id).iter().map(|line| line.split(' ').nth(1).unwrap().into()).collect();
    assert_eq!(verdicts, ["rejected", "rejected", "accepted", "duplicate"]);
    assert!(!stage.told(id).contains(&"workflow.paused".into()), "it never had to wait");
}

#[tokio::test]
async fn only_so_many_wait_for_a_pause_to_begin() {
    let mut stage = Stage::new().await;
    let yaml = "workflow: many\nversion: 1.0.0\nsteps:\n  - { key: a, action: hold, pause_after: { trigger: go } }\n";
    let id = stage.run(yaml, json!({})).await;
    for _ in 0..model::limits::EARLY_TRIGGERS_MAX {
        assert_eq!(stage.trigger(id, "go", json!(1)).await, A::Early);
    }
    assert_eq!(stage.trigger(id, "go", json!(1)).await, A::TooMany);
    stage.operate_workflow(id, V::Cancel).await.unwrap();
    stage.settle().await;
    assert!(matches!(stage.trigger(id, "go", json!(1)).await, A::Late(_)));
}

#[tokio::test]
async fn the_same_again_changes_nothing() {
    let mut stage = Stage::new().await;
    let id = stage.run(ASK, json!({})).await;
    let order = |webhook: &str| TriggerOrder {
        webhook_id: Some(webhook.into()),
        ..TriggerOrder::of(id, "boss", yes().to_string(), "tester")
    };
    let send =
        async |stage: &Stage, webhook: &str| stage.engine.trigger(order(webhook)).await.unwrap().answer;
    assert_eq!(send(&stage, "msg_1").await, A::Accepted);
    assert!(matches!(send(&stage, "msg_1").await, A::Consumed(_)), "before it is surely stored");
    stage.crash().await;
    for webhook in ["msg_1", "msg_2"] {
        let A::Consumed(why) = send(&stage, webhook).await else { panic!("{webhook}") };
        assert!(why.starts_with("already consumed"), "{why}");
    }
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: ask C, end C");
    assert!(matches!(stage.trigger(id, "boss", yes()).await, A::Consumed(_)), "also when all is over");
    assert_eq!(stage.sent(id).iter().filter(|line| line.contains("accepted")).count(), 1);
}

const BESIDE: &str = "
workflow: beside
version: 1.0.0
steps:
  - { key: left, action: ok, after: [], pause_after: { trigger: left-go } }
  - { key: left-end, action: ok }
  - { key: right, action: ok, after: [], pause_after: { trigger: right-go } }
  - { key: right-end, action: hold }
  - { key: work, action: hold, after: [] }
  - { key: end, action: ok, after: [left-end, right-end, work] }
";

#[tokio::test]
async fn branches_pause_by_themselves_and_others_go_on() {
    let mut stage = Stage::new().await;
    let id = stage.run(BESIDE, json!({})).await;
    assert_eq!(stage.flow(id), "running: left C, right C, work R");
    assert_eq!(stage.pauses(id), ["left 1 waiting", "right 1 waiting"]);
    stage.done(id, "work").await;
    assert_eq!(stage.workflow(id).state, model::WorkflowState::Paused);
    let told = "it waits for the trigger `left-go` and the trigger `right-go`";
    assert_eq!(stage.workflow(id).message.as_deref(), Some(told));
    stage.crash().await;
    assert_eq!(stage.trigger(id, "right-go", json!(null)).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.flow(id), "running: left C, right C, right-end R, work C");
    stage.done(id, "right-end").await;
    assert_eq!(stage.workflow(id).message.as_deref(), Some("it waits for the trigger `left-go`"));
    assert_eq!(stage.trigger(id, "left-go", json!(null)).await, A::Accepted);
    stage.settle().await;
    assert!(stage.flow(id).starts_with("succeeded"), "{}", stage.flow(id));
}

#[tokio::test]
async fn a_pause_behind_the_last_step_and_one_that_changes_nothing_else() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: last
version: 1.0.0
steps:
  - { key: a, action: ok, after: [], pause_after: { trigger: a-go } }
  - { key: b, action: ok, after: [], pause_after: { trigger: b-go } }
";
    let id = stage.run(yaml, json!({})).await;
    assert_eq!(stage.trigger(id, "a-go", json!(1)).await, A::Accepted);
    assert_eq!(stage.flow(id), "paused: a C, b C");
    assert_eq!(stage.workflow(id).message.as_deref(), Some("it waits for the trigger `b-go`"));
    assert_eq!(stage.trigger(id, "b-go", json!(1)).await, A::Accepted);
    assert_eq!(stage.flow(id), "succeeded: a C, b C");
    let paused = stage.told(id).iter().filter(|told| *told == "workflow.paused").count();
    assert_eq!(paused, 1, "one that goes on to nothing is no move of the whole");
}

#[tokio::test]
async fn pauses_stand_inside_branches_and_around_fan_outs() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: around
version: 1.0.0
steps:
  - { key: route, branch: { choose: input.way, branches: { ask: [submit, book], skip: [] }, converge: all }, pause_after: { trigger: chosen } }
  - { key: submit, action: ok, pause_after: { trigger: approved } }
  - { key: book, action: echo, arguments: \"${outputs.approved}\" }
  - { key: all, action: echo, each: \"[1, 2]\", pause_after: { trigger: counted } }
  - { key: end, action: echo, arguments: { counted: \"${outputs.counted}\", all: \"${outputs.all}\" } }
";
    let id = stage.run(yaml, json!({"way": "ask"})).await;
    assert_eq!(stage.flow(id), "paused: route C");
    assert_eq!(stage.trigger(id, "chosen", json!(1)).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.flow(id), "paused: route C, submit C");
    stage.crash().await;
    assert_eq!(stage.trigger(id, "approved", json!({"by": 7})).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.flow(id), "paused: route C, submit C, book C, all C");
    stage.crash().await;
    assert_eq!(stage.trigger(id, "counted", json!("yes")).await, A::Accepted);
    stage.settle().await;
    assert!(stage.flow(id).starts_with("succeeded"));
    assert_eq!(output(&stage, id), json!({"counted": "yes", "all": [1, 2]}));
    // On the way that was not taken nobody waits.
    let other = stage.start("around", json!({"way": "skip"})).await;
    stage.settle().await;
    stage.trigger(other, "chosen", json!(1)).await;
    stage.settle().await;
    assert_eq!(stage.pauses(other), ["route 1 resumed", "all 1 waiting"]);
    assert!(matches!(stage.trigger(other, "approved", json!(1)).await, A::Late(_)));
}

#[tokio::test]
async fn a_skipped_step_has_no_pause_and_a_termination_takes_pauses_along() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: ends
version: 1.0.0
steps:
  - { key: not, action: ok, after: [], when: \"false || input.no\", pause_after: { trigger: never } }
  - { key: a, action: ok, after: [], pause_after: { trigger: go } }
  - { key: b, action: hold, after: [], terminate_when: { if: \"true || input.no\", reason: enough }, pause_after: { trigger: also-never } }
  - { key: c, action: ok, after: [a] }
";
    let id = stage.run(yaml, json!({"no": false})).await;
    assert_eq!(stage.flow(id), "running: not K condition_false, a C, b R");
    stage.done(id, "b").await;
    assert_eq!(stage.flow(id), "succeeded: not K condition_false, a C, b C, c K terminated_early");
    assert_eq!(stage.pauses(id), ["a 1 cancelled"]);
    for trigger in ["go", "never", "also-never"] {
        assert!(matches!(stage.trigger(id, trigger, json!(1)).await, A::Late(_)), "{trigger}");
    }
}

#[tokio::test]
async fn a_cancelled_workflow_waits_for_nothing() {
    let mut stage = Stage::new().await;
    let id = stage.run(ASK, json!({})).await;
    stage.operate_workflow(id, V::Cancel).await.unwrap();
    assert_eq!(stage.flow(id), "cancelled: ask C");
    assert_eq!(stage.pauses(id), ["ask 1 cancelled"]);
    stage.crash().await;
    assert!(matches!(stage.trigger(id, "boss", yes()).await, A::Late(_)));
}

#[tokio::test]
async fn a_branch_that_fails_meanwhile_holds_what_follows_and_what_is_sent_counts() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: fails
version: 1.0.0
steps:
  - { key: a, action: ok, after: [], pause_after: { trigger: go, timeout: 1h } }
  - { key: b, action: hold, after: [], on_failure: pause_workflow }
  - { key: end, action: ok, after: [a, b] }
";
    let id = stage.run(yaml, json!({})).await;
    let b = stage.step_of(id, "b");
    let failure = model::Failure { message: "no".into(), trace: None };
    stage.report(stage.session.id, b, 1, Outcome::Fail { failure, notify: false }).await;
    stage.settle().await;
    assert_eq!(stage.workflow(id).paused_by, Some(PausedBy::Failure));
    stage.leap(std::time::Duration::from_secs(7_200)).await;
    assert_eq!(stage.pauses(id), ["a 1 waiting"], "while it is held no time passes for it");
    assert_eq!(stage.trigger(id, "go", json!(1)).await, A::Accepted);
    assert_eq!(stage.workflow(id).paused_by, Some(PausedBy::Failure), "the failure is still there");
    stage.crash().await;
    stage.operate_workflow(id, V::Resume).await.unwrap();
    stage.settle().await;
    stage.done(id, "b").await;
    assert!(stage.flow(id).starts_with("succeeded"), "{}", stage.flow(id));
}

#[tokio::test]
async fn a_person_needs_force_to_go_on_without_a_trigger() {
    let mut stage = Stage::new().await;
    let id = stage.run(ASK, json!({})).await;
    let refused = stage.operate_workflow(id, V::Resume).await.unwrap_err();
    assert!(refused.contains("it waits for the trigger `boss`") && refused.contains("--force"), "{refused}");
    let refused = stage.force(id, Some("{\"n\": 1}")).await.unwrap_err();
    assert!(refused.contains("\"ok\" is a required property"), "{refused}");
    stage.force(id, Some("{\"ok\": false, \"by\": \"the boss's boss\", \"n\": 0}")).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: ask C, end C");
    assert_eq!(output(&stage, id)["by"], "the boss's boss");
    let sent = stage.browse().trigger_payloads(id, 10).unwrap().remove(0);
    assert_eq!((sent.identity.as_str(), sent.why.as_deref()), ("test", Some("forced: because")));
    let both = stage.run(&BESIDE.replace("action: hold", "action: ok"), json!({})).await;
    let refused = stage.force(both, Some("1")).await.unwrap_err();
    assert!(refused.contains("a payload is for one trigger"), "{refused}");
    stage.force(both, None).await.unwrap();
    stage.settle().await;
    assert!(stage.flow(both).starts_with("succeeded"), "{}", stage.flow(both));
}

#[tokio::test]
async fn a_person_may_hold_what_waits_for_a_trigger() {
    let mut stage = Stage::new().await;
    let id = stage.run(ASK, json!({})).await;
    stage.operate_workflow(id, V::Pause).await.unwrap();
    assert_eq!(stage.workflow(id).paused_by, Some(PausedBy::Person));
    assert!(stage.operate_workflow(id, V::Pause).await.is_err());
    stage.operate_workflow(id, V::Resume).await.unwrap();
    assert_eq!(stage.workflow(id).paused_by, Some(PausedBy::Trigger), "it still waits");
    stage.operate_workflow(id, V::Pause).await.unwrap();
    assert_eq!(stage.trigger(id, "boss", yes()).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.flow(id), "paused: ask C", "it is held, whatever was sent");
    stage.crash().await;
    stage.operate_workflow(id, V::Resume).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.flow(id), "succeeded: ask C, end C");
}

#[tokio::test]
async fn a_workflow_inside_another_waits_and_is_held_with_it() {
    let mut stage = Stage::new().await;
    stage.define(ASK).await;
    let yaml = "workflow: above\nversion: 1.0.0\nsteps:\n  - { key: sub, workflow: ask }\n";
    let above = stage.run(yaml, json!({})).await;
    let below = stage.browse().workflow_below(stage.step_of(above, "sub")).unwrap().unwrap();
    assert_eq!((stage.flow(above), stage.flow(below)), ("running: sub R".into(), "paused: ask C".into()));
    stage.operate_workflow(above, V::Pause).await.unwrap();
    assert_eq!(stage.workflow(below).paused_by, Some(PausedBy::Person));
    stage.operate_workflow(above, V::Resume).await.unwrap();
    assert_eq!(stage.workflow(below).paused_by, Some(PausedBy::Trigger));
    assert_eq!(stage.trigger(below, "boss", yes()).await, A::Accepted);
    stage.settle().await;
    assert_eq!(stage.flow(above), "succeeded: sub C");
}

#[tokio::test]
async fn a_step_that_is_done_again_pauses_behind_its_last_run() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: again
version: 1.0.0
steps:
  - { key: a, action: hold, on_failure: pause_workflow, retry: { attempts: 1 }, pause_after: { trigger: go } }
  - { key: end, action: ok }
";
    let id = stage.run(yaml, json!({})).await;
    let failure = model::Failure { message: "no".into(), trace: None };
    let a = stage.step_of(id, "a");
    stage.report(stage.session.id, a, 1, Outcome::Fail { failure, notify: false }).await;
    stage.settle().await;
    assert_eq!(stage.pauses(id), [] as [&str; 0], "what failed has no pause");
    assert_eq!(stage.trigger(id, "go", json!(1)).await, A::Early);
    stage.operate_workflow(id, V::Resume).await.unwrap();
    stage.settle().await;
    stage.done(id, "a").await;
    assert_eq!(stage.flow(id), "succeeded: a U, a C, end C");
    assert_eq!(stage.pauses(id), ["a 2 resumed"]);
}

/// What whoever runs the one delivery is given.
async fn delivered(stage: &mut Stage) -> Value {
    let (host, queues) = ("elsewhere".into(), vec!["default".into()]);
    let offer = SessionOffer { host, queues, actions: vec!["deliver".into()], capacity: 9, remote: false };
    let mut session = stage.engine.join(offer).await.expect("a session");
    stage.decide(Mode::FixedPoint).await;
    let claim = session.work.try_recv().expect("it is handed out").claims.remove(0);
    // It answers with what it was told.
    let response = Some(claim.arguments.to_string());
    stage.report(session.id, claim.step, claim.attempt, Outcome::Complete { response }).await;
    serde_json::from_str(&claim.arguments).expect("arguments are JSON")
}

#[tokio::test]
async fn a_token_is_of_one_pause_and_only_its_hash_is_kept() {
    let mut stage = Stage::new().await;
    let yaml = "
workflow: token
version: 1.0.0
steps:
  - { key: a, action: ok, pause_after: { trigger: go, auth: token, notify: \"https://example.com/x\" } }
  - { key: b, action: ok, pause_after: { trigger: other } }
";
    let id = stage.run(yaml, json!({})).await;
    let arguments = delivered(&mut stage).await;
    assert_eq!(arguments["body"]["type"], "pause.begun");
    let text = arguments["body"]["token"].as_str().unwrap();
    assert_eq!(arguments["body"]["page"], format!("/approve/{id}/go?token={text}"));
    let token = PauseToken::of(text);
    let all = everything(&stage.database()).await;
    assert!(
        holds(&all, "pause.begun") && !holds(&all, text),
        "whoever delivers it knows it, and nothing that is stored"
    );
    let kept = |stage: &Stage| stage.browse().workflow_pauses(id).unwrap()[0].token.unwrap();
    assert!(token.is(&kept(&stage)));
    let order = |trigger: &str| TokenOrder { workflow: id, trigger: trigger.into(), by: "ada".into() };
    let again = stage.engine.pause_token(order("go")).await.unwrap();
    assert!(again.is(&kept(&stage)) && !token.is(&kept(&stage)), "the one before is worth nothing");
    let refused = stage.engine.pause_token(order("other")).await.unwrap_err().to_string();
    assert!(refused.contains("does not ask for a token"), "{refused}");
    let of_another_run = TriggerOrder { run: Some(2), ..TriggerOrder::of(id, "go", "1".into(), "x") };
    assert!(matches!(stage.engine.trigger(of_another_run).await.unwrap().answer, A::Late(_)));
    assert_eq!(stage.trigger(id, "go", json!(1)).await, A::Accepted);
}
