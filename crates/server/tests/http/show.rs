use crate::place::{Place, endless};
use serde_json::Value;

fn why(step: &Value) -> Vec<&str> {
    step["why"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_step_says_in_words_why_it_is_not_running() {
    let place = Place::open();
    let made = place.create(r#"[{"action": "ghost"}, {"action": "ghost", "delay_ms": 3600000}]"#).await;
    assert_eq!(why(&place.step(&made[0]).await), ["no worker offers action `ghost` on queue `default`"]);
    let later = place.step(&made[1]).await;
    let at = later["dispatch_after"].as_str().unwrap();
    assert_eq!(why(&later)[0], format!("it is due later, at {at}"));
    assert_eq!((at.len(), at.ends_with('Z')), ("2027-01-15T08:00:00.000000Z".len(), true), "{at}");
    place.post("/v1/breaker", r#"{"off": true, "why": "deploy", "by": "ann"}"#).await.ok();
    let told = "the breaker is off everywhere, switched off by ann (deploy)";
    assert!(why(&place.step(&made[0]).await).contains(&told));
    place.close().await;
}

const NESTED: &str = "
workflow: outer
version: 1.0.0
steps:
  - { key: below, workflow: inner }
";
const HELD: &str = "
workflow: inner
version: 1.0.0
steps:
  - { key: rest, wait: 1h }
";

/// Whoever paused a workflow also paused those below it.
#[tokio::test]
async fn a_step_says_who_paused_its_workflow_and_why() {
    let place = Place::open();
    place.define(HELD).await.ok();
    place.define(NESTED).await.ok();
    let outer = place.start("outer", serde_json::json!({})).await;
    let is_there = |list: &Value| list["workflows"][0]["id"].is_string();
    let list = place.until("/v1/workflows?workflow=inner&nested=true", is_there).await;
    let inner = list["workflows"][0]["id"].as_str().unwrap().to_string();
    let path = format!("/v1/workflows/{inner}");
    let shown = place.until(&path, |shown| shown["steps"][0]["step_id"].is_string()).await;
    let step = shown["steps"][0]["step_id"].as_str().unwrap();
    let (pause, resume) = (format!("{path}/pause"), format!("{path}/resume"));
    place.post(&pause, r#"{"why": "audit", "by": "ann"}"#).await.ok();
    assert_eq!(why(&place.step(step).await), [format!("its workflow {inner} was paused by ann (audit)")]);
    place.post(&resume, r#"{"by": "ann"}"#).await.ok();
    place.post(&pause, r#"{"by": "bo"}"#).await.ok();
    assert_eq!(why(&place.step(step).await), [format!("its workflow {inner} was paused by bo (by hand)")]);
    place.post(&resume, r#"{"by": "bo"}"#).await.ok();
    let above = format!("/v1/workflows/{outer}/pause");
    place.post(&above, r#"{"why": "the bank is down", "by": "cy"}"#).await.ok();
    let told = format!("its workflow {inner} was paused by cy (the bank is down)");
    assert_eq!(why(&place.step(step).await), [told]);
    place.close().await;
}

#[tokio::test]
async fn a_step_shows_its_answer_to_the_letter() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let made = place
        .create(
            r#"[{"action": "echo", "label": "say it", "arguments": {"z": 1.10, "a": 18446744073709551616}}]"#,
        )
        .await;
    let step = place.until_state(&made[0], "completed").await;
    assert_eq!((&step["label"], &step["why"]), (&Value::from("say it"), &Value::Array(vec![])));
    assert!(step["duration_ms"].as_f64().unwrap() >= 0.0);
    assert_eq!(step["host"], "worker1");
    let text = place.get(&format!("/v1/steps/{}", made[0])).await;
    assert!(text.text().contains(r#""response":{"z": 1.10, "a": 18446744073709551616}"#), "{}", text.text());
    let moves: Vec<&str> =
        step["history"].as_array().unwrap().iter().map(|e| e["to"].as_str().unwrap()).collect();
    assert_eq!(moves, ["pending", "dispatched", "running", "completed"]);
    place.close().await;
}

#[tokio::test]
async fn attempts_and_children_are_told() {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
        })
        .await;
    let made = place
        .create(
            r#"[{"action": "fail", "arguments": {"message": "no luck"}},
                {"action": "noop", "children": [{"action": "endless"}, {"action": "noop", "index": 2}]}]"#,
        )
        .await;
    let failed = place.until_state(&made[0], "failed").await;
    assert_eq!(failed["error_message"], "no luck");
    assert_eq!(
        (&failed["attempts"][0]["outcome"], &failed["attempts"][0]["message"]),
        (&"failed".into(), &"no luck".into())
    );
    let path = format!("/v1/steps/{}", made[1]);
    let waits = "it waits for 2 live steps of its child block";
    let parent = place.until(&path, |step| why(step) == [waits]).await;
    assert_eq!(parent["children"]["steps"], serde_json::json!({ "live": 2 }));
    assert_eq!(parent["children"]["last_index"], 2);
    place.close().await;
}

#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let place = Place::open();
    place.get("/v1/steps/00000000-0000-0000-0000-000000000001").await.refused(404, "not_found");
    let problem = place.get("/v1/steps/seven").await.refused(400, "invalid_request");
    assert!(problem["detail"].as_str().unwrap().contains("`seven` is not a step id"));
    place.get("/v1/nothing").await.refused(404, "not_found");
    place.post("/v1/groups", "{}").await.refused(405, "method_not_allowed");
    place.close().await;
}

#[tokio::test]
async fn groups_nodes_ticks_and_alerts_are_listed() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let made = place.create(r#"[{"action": "noop", "dispatch_group": "beta"}]"#).await;
    place.until_state(&made[0], "completed").await;
    let groups = place.get("/v1/groups").await.ok();
    assert_eq!(groups["groups"].as_array().unwrap().len(), 10);
    assert_eq!(groups["groups"][1]["dispatch_group"], "beta");
    assert_eq!(groups["groups"][1]["steps"]["completed"], 1);
    let nodes = place.get("/v1/nodes").await.ok();
    assert_eq!((&nodes["nodes"][0]["live"], &nodes["nodes"][0]["host"]), (&true.into(), &"here".into()));
    assert_eq!(nodes["nodes"][0]["sessions"][0]["host"], "worker1");
    assert_eq!(nodes["nodes"][0]["dispatch_groups"].as_array().unwrap().len(), 10);
    let ticks =
        place.until("/v1/ticks?dispatch_group=beta", |t| !t["ticks"].as_array().unwrap().is_empty()).await;
    assert_eq!(
        (&ticks["ticks"][0]["dispatch_group"], &ticks["ticks"][0]["steps_dispatched"]),
        (&"beta".into(), &1.into())
    );
    assert_eq!(place.get("/v1/alerts").await.ok()["alerts"], Value::Array(vec![]));
    place.close().await;
}
