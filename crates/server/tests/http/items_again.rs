//! What is decided about fan-outs over HTTP, and pauses that ask by themselves as the API shows them.

use crate::place::Place;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use worker::{Claim, Outcome};

const PACK: &str = "
workflow: pack
version: 1.0.0
steps:
  - { key: all, action: odd, each: input.items }
";
const BILL: &str = "
workflow: bill
version: 1.0.0
steps:
  - key: send
    action: noop
    pause_after: { poll: { action: echo, arguments: { paid: true }, interval: 1h }, resume_when: payload.paid == input.paid }
  - { key: ship, action: noop }
";

/// A place with a job that fails for odd numbers until it is mended, and answers with the number.
async fn place() -> (Place, Arc<AtomicBool>) {
    let mended = Arc::new(AtomicBool::new(false));
    let (mut place, mine) = (Place::open(), mended.clone());
    place
        .work(move |registry| {
            registry.raw("odd", move |claim: Claim| {
                let n: u64 = claim.arguments.parse().unwrap();
                let fails = n % 2 == 1 && !mine.load(Ordering::Relaxed);
                std::future::ready(match fails {
                    true => Outcome::Fail { failure: Default::default(), notify: true },
                    false => Outcome::Complete { response: Some(n.to_string()) },
                })
            });
        })
        .await;
    place.define(PACK).await.ok();
    place.define(BILL).await.ok();
    (place, mended)
}

async fn resolve(place: &Place, id: &str, body: Value) -> crate::place::Answer {
    place.post(&format!("/v1/workflows/{id}/resolve"), body.to_string()).await
}

#[tokio::test]
async fn which_items_are_done_again_is_said_in_the_body() {
    let (place, mended) = place().await;
    let id = place.start("pack", json!({"items": [1, 2, 3, 4]})).await;
    let failed = place.until_workflow(&id, "failed").await;
    let items = |shown: &Value| shown["steps"][0]["items"].clone();
    assert_eq!(items(&failed), json!({"total": 4, "to_come": 0, "live": 0, "completed": 2, "failed": 2}));
    let strange = resolve(&place, &id, json!({"decision": "retry", "items": "some"})).await;
    assert!(strange.text().contains("`some` is none"), "{}", strange.text());
    let dry =
        resolve(&place, &id, json!({"decision": "retry", "items": "failed", "dry_run": true})).await.ok();
    let told = "of step `all` 2 of 4 items are done again; the others keep what they answered";
    assert!(dry["effects"].as_array().unwrap().contains(&json!(told)), "{dry}");
    let all = resolve(&place, &id, json!({"decision": "retry", "items": "all", "dry_run": true})).await.ok();
    assert!(!all["effects"].to_string().contains("items are done again"), "{all}");
    mended.store(true, Ordering::Relaxed);
    resolve(&place, &id, json!({"decision": "retry_from_step", "step": "all", "items": "failed"})).await.ok();
    let over = place.until_workflow(&id, "succeeded").await;
    assert_eq!(over["output"], json!([1, 2, 3, 4]));
    assert_eq!(items(&over), json!({"total": 4, "to_come": 0, "live": 0, "completed": 4, "failed": 0}));
    assert_eq!(over["steps"][0]["run"], 2);
    let page = place.get(&format!("/v1/workflows/{id}/steps/all/items")).await.ok();
    let numbers: Vec<u64> =
        page["items"].as_array().unwrap().iter().map(|i| i["item"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [0, 1, 2, 3], "each once, as it stands now");
    place.close().await;
}

#[tokio::test]
async fn what_polls_behind_a_step_is_shown_behind_it() {
    let (place, _) = place().await;
    let id = place.start("bill", json!({"paid": false})).await;
    let path = format!("/v1/workflows/{id}");
    let shown = place.until(&path, |shown| shown["steps"][1]["state"] == "polling").await;
    let keys: Vec<&str> =
        shown["steps"].as_array().unwrap().iter().map(|s| s["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["send", "send:poll", "ship"]);
    assert_eq!(
        (&shown["steps"][1]["kind"], &shown["steps"][1]["polls"]["made"]),
        (&json!("poll"), &json!(1))
    );
    let polls = place.get("/v1/polls").await.ok();
    assert!(polls.to_string().contains(&id), "{polls}");
    let paid = place.start("bill", json!({"paid": true})).await;
    place.until_workflow(&paid, "succeeded").await;
    place.close().await;
}
