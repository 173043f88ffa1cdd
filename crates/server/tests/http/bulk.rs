//! The same done to many: previewed, run in batches with its progress on record, audited, cancelled, and gone on with after a restart.

use crate::place::Place;
use serde_json::{Value, json};
use stepfast_server::{BULK_ACTION, Bulk, BulkOrder, BulkTurn};
use worker::{Context, JobError, Registry, fail, poll_again_after};

/// As `stepfast serve` does it.
fn register(registry: &mut Registry, bulk: Bulk) {
    registry.job(BULK_ACTION, move |context: Context, order: BulkOrder| {
        let bulk = bulk.clone();
        async move {
            let of = context.workflow().ok_or_else(|| fail("not a bulk operation"))?;
            match bulk.batch(&order, context.previous_poll()?, of.id).await.map_err(JobError::msg)? {
                BulkTurn::Over(progress) => Ok(progress),
                BulkTurn::Rest { progress, wait } => Err(poll_again_after(&progress, wait)),
            }
        }
    });
}

pub async fn with_bulk(place: &mut Place) {
    let bulk = Bulk::new(place.engine.clone(), place.site().database);
    place.work(|registry| register(registry, bulk)).await;
}

/// Steps that nobody runs.
pub async fn ghosts(place: &Place, n: usize) -> Vec<String> {
    let steps: Vec<Value> = (0..n).map(|_| json!({"action": "ghost", "queue": "default"})).collect();
    place.create(&json!(steps).to_string()).await
}

#[tokio::test]
async fn a_preview_counts_and_tries_a_few_and_does_nothing() {
    let place = Place::open();
    let made = ghosts(&place, 8).await;
    let body = json!({"what": "steps", "filter": {"state": ["pending"], "action": "ghost"}, "verb": "cancel",
                      "dry_run": true});
    let answer = place.post("/v1/bulk", body.to_string()).await;
    assert_eq!(answer.status, 200);
    let preview = answer.json();
    assert_eq!((&preview["matched"], &preview["more"]), (&json!(8), &json!(false)), "{preview}");
    let sample = preview["sample"].as_array().unwrap();
    assert_eq!(sample.len(), 5);
    assert_eq!((&sample[0]["would"], &sample[0]["refused"]), (&json!("pending -> cancelled"), &json!(false)));
    assert_eq!(place.step(&made[0]).await["state"], "pending");
    let retry = json!({"what": "steps", "filter": {"action": "ghost"}, "verb": "retry", "dry_run": true});
    let preview = place.post("/v1/bulk", retry.to_string()).await.ok();
    assert_eq!(preview["sample"][0]["refused"], true, "{preview}");
    assert_eq!(place.get("/v1/bulk").await.ok()["bulk"], json!([]));
    place.close().await;
}

#[tokio::test]
async fn it_runs_in_batches_and_leaves_what_comes_later() {
    let mut place = Place::open();
    with_bulk(&mut place).await;
    let made = ghosts(&place, 150).await;
    let body = json!({"what": "steps", "filter": {"state": ["pending"], "action": "ghost"}, "verb": "cancel",
                      "why": "nobody runs them", "per_second": 1000, "by": "anna"});
    let answer = place.post("/v1/bulk", body.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let running = answer.json();
    assert_eq!(
        (&running["matched"], &running["verb"], &running["by"]),
        (&json!(150), &json!("cancel"), &json!("anna"))
    );
    let later = ghosts(&place, 1).await;
    let address = format!("/v1/bulk/{}", running["id"].as_str().unwrap());
    let over = place.until(&address, |bulk| bulk["state"] == "succeeded").await;
    let progress = &over["progress"];
    assert_eq!(
        (&progress["looked"], &progress["done"], &progress["refused"]),
        (&json!(150), &json!(150), &json!(0))
    );
    assert_eq!(place.step(&made[149]).await["state"], "cancelled");
    assert_eq!(place.step(&later[0]).await["state"], "pending", "what comes later is not meant");
    let audit = place.get("/v1/audit?limit=1000").await.ok();
    let cancelled = audit["audit"].as_array().unwrap().iter();
    let cancelled = cancelled.filter(|line| line["verb"] == "cancel" && line["who"] == "anna");
    assert_eq!(cancelled.filter(|line| line["why"] == "nobody runs them").count(), 150);
    let all = place.get("/v1/bulk").await.ok();
    assert_eq!(all["bulk"][0]["id"], running["id"]);
    place.close().await;
}

const FAILS: &str = "
workflow: order
version: 1.0.0
steps:
  - key: pay
    action: fail
    retry: { attempts: 1 }
";

#[tokio::test]
async fn a_decision_about_many_workflows_tells_what_was_refused() {
    let mut place = Place::open();
    with_bulk(&mut place).await;
    place.define(FAILS).await.ok();
    let mut failed = Vec::new();
    for _ in 0..3 {
        failed.push(place.start("order", json!({})).await);
    }
    for id in &failed {
        place.until_workflow(id, "failed").await;
    }
    let resolved = json!({"decision": "mark_resolved", "why": "paid by hand"});
    place.post(&format!("/v1/workflows/{}/resolve", failed[0]), resolved.to_string()).await.ok();
    let body = json!({"what": "workflows", "filter": {"workflow": "order"}, "decision": {"decision": "mark_resolved"}, "why": "paid by hand"});
    let running = place.post("/v1/bulk", body.to_string()).await.ok();
    assert_eq!(running["matched"], 2, "somebody has decided about one");
    let address = format!("/v1/bulk/{}", running["id"].as_str().unwrap());
    let over = place.until(&address, |bulk| bulk["state"] == "succeeded").await;
    assert_eq!(over["progress"]["done"], 2, "{over}");
    let shown = place.get(&format!("/v1/workflows/{}", failed[2])).await.ok();
    assert!(shown["resolved_at"].is_string(), "{shown}");
    // What is refused does not hold up the others.
    let body = json!({"what": "workflows", "filter": {"workflow": "order", "state": ["failed"]}, "verb": "pause", "why": "x"});
    let running = place.post("/v1/bulk", body.to_string()).await.ok();
    let address = format!("/v1/bulk/{}", running["id"].as_str().unwrap());
    let over = place.until(&address, |bulk| bulk["state"] == "succeeded").await;
    assert_eq!((&over["progress"]["done"], &over["progress"]["refused"]), (&json!(0), &json!(3)), "{over}");
    assert_eq!(over["progress"]["refusals"].as_array().unwrap().len(), 3);
    place.close().await;
}

#[tokio::test]
async fn it_is_cancelled_and_only_asked_for_where_it_is_asked_for() {
    let place = Place::open();
    ghosts(&place, 3).await;
    // Nobody runs it, so it waits.
    let body = json!({"what": "steps", "filter": {"action": "ghost"}, "verb": "skip", "why": "x"});
    let running = place.post("/v1/bulk", body.to_string()).await.ok();
    let address = format!("/v1/bulk/{}", running["id"].as_str().unwrap());
    let cancelled = place.post(&format!("{address}/cancel"), "{}").await.ok();
    assert_eq!(cancelled["state"], "cancelled");
    let shown = place.get(&address).await;
    assert_eq!(shown.headers["etag"], format!("\"{}\"", shown.json()["revision"]));
    let forged = json!({"workflow": "stepfast-bulk", "input": {}});
    place.post("/v1/workflows", forged.to_string()).await.refused(403, "forbidden");
    let own = "workflow: stepfast-bulk\nversion: 2.0.0\nsteps: [{ key: a, action: noop }]";
    place.define(own).await.refused(403, "forbidden");
    let order = place.start_order().await;
    place.get(&format!("/v1/bulk/{order}")).await.refused(404, "not_found");
    let told = json!({"what": "steps", "filter": {}, "verb": "skip"});
    let told = place.post("/v1/bulk", told.to_string()).await.refused(422, "invalid_request");
    assert_eq!(told["faults"][0]["field"], "filter");
    place.close().await;
}

/// A worker is lost in the middle: whoever comes next goes on behind what was on record.
#[tokio::test]
async fn what_was_asked_for_before_is_not_asked_for_again() {
    let place = Place::open();
    let made = ghosts(&place, 70).await;
    let body = json!({"what": "steps", "filter": {"action": "ghost"}, "verb": "cancel", "per_second": 10000, "why": "x"});
    let running = place.post("/v1/bulk", body.to_string()).await.ok();
    let id = running["id"].as_str().unwrap();
    let bulk = Bulk::new(place.engine.clone(), place.site().database);
    let shown = place.get(&format!("/v1/workflows/{id}")).await.ok();
    let order: BulkOrder = serde_json::from_value(shown["input"].clone()).unwrap();
    let own = id.parse().unwrap();
    let Ok(BulkTurn::Rest { progress, .. }) = bulk.batch(&order, None, own).await else {
        panic!("there are more")
    };
    assert_eq!((progress.looked, progress.done), (64, 64));
    // The same batch again, because its answer was lost: those that moved are refused, and no other is touched.
    let Ok(BulkTurn::Rest { progress: again, .. }) = bulk.batch(&order, None, own).await else {
        panic!("as before")
    };
    assert_eq!((again.looked, again.refused), (64, 64));
    let Ok(BulkTurn::Over(last)) = bulk.batch(&order, Some(progress), own).await else {
        panic!("it is over")
    };
    assert_eq!((last.looked, last.done, last.refused), (70, 70, 0));
    assert_eq!(place.step(&made[0]).await["state"], "cancelled");
    let forged = place.start_order().await.parse().unwrap();
    let refused = bulk.batch(&order, None, forged).await.err().unwrap();
    assert!(refused.contains("/v1/bulk"), "{refused}");
    place.close().await;
}

#[tokio::test]
async fn a_slow_one_is_never_faster_than_it_says() {
    let place = Place::open();
    ghosts(&place, 20).await;
    let order = |rate: f64| json!({"what": "steps", "filter": {"action": "ghost"}, "verb": "cancel", "per_second": rate, "why": "x"});
    let told = place.post("/v1/bulk", order(0.01).to_string()).await.refused(422, "invalid_request");
    assert_eq!(told["faults"][0]["field"], "per_second", "{told}");
    let running = place.post("/v1/bulk", order(0.1).to_string()).await.ok();
    let id = running["id"].as_str().unwrap();
    let shown = place.get(&format!("/v1/workflows/{id}")).await.ok();
    let order: BulkOrder = serde_json::from_value(shown["input"].clone()).unwrap();
    let bulk = Bulk::new(place.engine.clone(), place.site().database);
    let Ok(BulkTurn::Rest { progress, wait }) = bulk.batch(&order, None, id.parse().unwrap()).await else {
        panic!("there are more")
    };
    assert_eq!(progress.looked, 6, "six in a minute");
    assert!((50..=60).contains(&wait.as_secs()), "{wait:?}");
    place.close().await;
}

impl Place {
    async fn start_order(&self) -> String {
        self.define(FAILS).await.ok();
        self.start("order", json!({})).await
    }
}
