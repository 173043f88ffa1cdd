use crate::place::Place;
use serde_json::{Value, json};
use worker::{Claim, Failure, Outcome};

const PAY: &str = "
workflow: pay
version: 1.0.0
expected_within: 1h
steps:
  - { key: debited, action: echo, arguments: {} }
  - { key: notified, action: echo, arguments: {}, when: input.notify }
  - { key: shares, action: echo, each: input.shares, arguments: {} }
  - { key: credited, action: bank, arguments: \"${input.bank}\", status_message: \"Payment received, processing bonuses\" }
  - { key: mailed, action: echo, arguments: {} }
";

/// The bank answers as it is told to.
async fn bank(claim: Claim) -> Outcome {
    match claim.arguments.trim_matches('"') {
        "away" => {
            let failure = Failure { message: "the bank is away".into(), trace: None };
            Outcome::Fail { failure, notify: true }
        }
        "slow" => std::future::pending().await,
        _ => Outcome::Complete { response: None },
    }
}

async fn place() -> Place {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("bank", bank);
        })
        .await;
    place.define(PAY).await.ok();
    place
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_workflow_is_as_far_as_the_steps_of_its_definition() {
    let place = place().await;
    let id = place.start("pay", json!({"notify": false, "shares": [1, 2], "bank": "slow"})).await;
    let path = format!("/v1/workflows/{id}/progress");
    let shown = place.until(&path, |shown| shown["current"] == "credited").await;
    assert_eq!(
        (&shown["kind"], &shown["state"], &shown["percent"]),
        (&json!("workflow"), &json!("running"), &json!(60.0))
    );
    assert_eq!(names(&shown["completed"]), ["debited", "shares"]);
    assert_eq!(
        (names(&shown["skipped"]), names(&shown["pending"])),
        (vec!["notified"], vec!["credited", "mailed"])
    );
    assert_eq!(shown["completed"][1]["items"], json!({"done": 2, "failed": 0, "of": 2}));
    assert!(shown["completed"][0]["at"].is_string() && shown["pending"][1].get("at").is_none());
    assert_eq!(shown["sentence"], "Payment received, processing bonuses");
    assert!(shown["expected_at"].is_string() && shown["since"].is_string());
    assert!(!shown["waits_for"].as_array().unwrap().is_empty(), "{shown}");
    let page = place.get(&format!("/workflows/{id}")).await;
    assert!(page.text().contains("60 %") && page.text().contains("Payment received"), "{}", page.text());
    place.get("/v1/workflows/00000000-0000-0000-0000-000000000001/progress").await.refused(404, "not_found");
    place.close().await;
}

#[tokio::test]
async fn what_failed_is_failed_and_what_succeeded_is_whole() {
    let place = place().await;
    let failed = place.start("pay", json!({"notify": true, "shares": [], "bank": "away"})).await;
    let path = format!("/v1/workflows/{failed}/progress");
    let shown = place.until(&path, |shown| shown["state"] == "failed").await;
    assert_eq!((&shown["percent"], names(&shown["failed"])), (&json!(60.0), vec!["credited"]));
    assert_eq!(shown["sentence"], "It could not go on at credited; 3 of 5 steps are done.");
    assert_eq!(shown["failed"][0]["notes"], json!(["the bank is away"]), "for those who look after it");
    let whole = place.start("pay", json!({"notify": true, "shares": [], "bank": "fine"})).await;
    let path = format!("/v1/workflows/{whole}/progress");
    let shown = place.until(&path, |shown| shown["state"] == "completed").await;
    assert_eq!((&shown["percent"], &shown["sentence"]), (&json!(100.0), &json!("Everything is done.")));
    place.close().await;
}

const BILL: &str = "
workflow: bill
version: 1.0.0
steps:
  - key: send
    action: echo
    arguments: {}
    status_message: We wait for the bank
    pause_after: { poll: { action: ask, interval: 60s }, resume_when: payload.paid }
  - { key: book, action: echo, arguments: {} }
";

/// What polled behind a step was not there: it seemed to be at the next step, and to wait for nothing.
#[tokio::test]
async fn a_pause_that_polls_is_a_part_and_what_it_waits_for_is_told() {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("ask", |_| async { Outcome::Continue { data: None, after: None } });
        })
        .await;
    place.define(BILL).await.ok();
    let id = place.start("bill", json!({})).await;
    let path = format!("/v1/workflows/{id}/progress");
    let shown = place.until(&path, |shown| shown["current"] == "send:poll").await;
    assert_eq!((&shown["state"], &shown["percent"]), (&json!("running"), &json!(33.33)));
    assert_eq!(
        (names(&shown["completed"]), names(&shown["pending"])),
        (vec!["send"], vec!["send:poll", "book"]),
        "in the order in which it is done"
    );
    assert_eq!(shown["sentence"], "We wait for the bank");
    assert!(!shown["waits_for"].as_array().unwrap().is_empty(), "{shown}");
    let whole = place.get(&format!("/v1/workflows/{id}")).await.ok();
    assert_eq!(whole["percent"], 33, "the page says the same");
    place.close().await;
}

#[tokio::test]
async fn a_tree_of_steps_is_as_far_as_the_steps_below_its_root() {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("bank", bank);
        })
        .await;
    let steps = r#"[{"action": "echo", "label": "order", "children": [
        {"action": "echo", "step_key": "reserve", "index": 1},
        {"action": "bank", "step_key": "charge", "index": 2, "arguments": "slow"},
        {"action": "echo", "step_key": "ship", "index": 3}]}]"#;
    let id = place.create(steps).await[0].clone();
    let path = format!("/v1/steps/{id}/progress");
    let shown = place.until(&path, |shown| shown["current"] == "charge" && shown["percent"] == 33.33).await;
    assert_eq!(
        (names(&shown["completed"]), names(&shown["pending"])),
        (vec!["reserve"], vec!["charge", "ship"])
    );
    assert_eq!((&shown["kind"], &shown["name"]), (&json!("step"), &json!("order")));
    assert_eq!(shown["sentence"], "1 of 3 steps is done; now: charge.");
    let half = place.get("/v1/progress?half_done=true").await.ok();
    assert_eq!(half["half_done"][0]["id"], json!(id), "{half}");
    let leaf = place.create(r#"[{"action": "echo"}]"#).await[0].clone();
    let done =
        place.until(&format!("/v1/steps/{leaf}/progress"), |shown| shown["state"] == "completed").await;
    assert_eq!((&done["percent"], names(&done["completed"])), (&json!(100.0), vec!["echo"]));
    place.get("/v1/steps/00000000-0000-0000-0000-000000000001/progress").await.refused(404, "not_found");
    place.close().await;
}

#[tokio::test]
async fn the_half_done_list_has_what_is_begun_and_what_failed_oldest_first() {
    let place = place().await;
    let failed = place.start("pay", json!({"notify": true, "shares": [], "bank": "away"})).await;
    place.until(&format!("/v1/workflows/{failed}"), |shown| shown["state"] == "failed").await;
    let flow = async |id: &str, steps: &[(&str, &str)]| -> String {
        let body = json!({"type": "payment", "key": id, "steps": ["debited", "credited"]});
        let made =
            place.post("/v1/flows", body.to_string()).await.ok()["flow"]["id"].as_str().unwrap().to_string();
        for (step, verb) in steps {
            place.post(&format!("/v1/flows/{made}/steps/{step}/{verb}"), "{}").await.ok();
        }
        made
    };
    let half = flow("half", &[("debited", "complete")]).await;
    flow("begun", &[]).await;
    flow("whole", &[("debited", "complete"), ("credited", "complete")]).await;
    let broken = flow("broken", &[("debited", "fail")]).await;
    let slow = place.start("pay", json!({"notify": true, "shares": [], "bank": "slow"})).await;
    place.until(&format!("/v1/workflows/{slow}/progress"), |shown| shown["current"] == "credited").await;
    let ids = |page: &Value| -> Vec<String> {
        page["half_done"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().into()).collect()
    };
    let page = place.get("/v1/progress").await.ok();
    assert_eq!(ids(&page), [failed.clone(), half.clone(), broken.clone(), slow.clone()], "{page}");
    assert_eq!(page["half_done"][1]["sentence"], "1 of 2 steps is done; next: credited.");
    let first = place.get("/v1/progress?limit=2").await.ok();
    assert_eq!(ids(&first), [failed.clone(), half.clone()]);
    let next = first["next"].as_str().unwrap();
    assert_eq!(
        ids(&place.get(&format!("/v1/progress?limit=2&after={next}")).await.ok()),
        [broken, slow.clone()]
    );
    let resolved = json!({"decision": "mark_resolved", "why": "paid by hand"});
    place.post(&format!("/v1/workflows/{failed}/resolve"), resolved.to_string()).await.ok();
    place.post(&format!("/v1/flows/{half}/steps/credited/complete"), "{}").await.ok();
    let left = ids(&place.get("/v1/progress").await.ok());
    assert!(!left.contains(&failed) && !left.contains(&half) && left.contains(&slow), "{left:?}");
    for wrong in ["limit=0", "limit=201", "after=x", "half_done=false", "state=failed"] {
        place.get(&format!("/v1/progress?{wrong}")).await.refused(400, "invalid_request");
    }
    place.close().await;
}
