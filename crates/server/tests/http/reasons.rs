//! What cannot be taken back (S11): it needs a reason, the state that was seen, and for many of them their number.

use crate::place::{Answer, Place};
use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use tokio::join;

const FAILS: &str = "
workflow: order
version: 1.0.0
steps:
  - key: pay
    action: ghost
";

/// Nobody says why.
async fn silent(place: &Place, path: &str) {
    for body in ["{}", r#"{"why": "  "}"#, r#"{"by": "anna"}"#] {
        let told = place.post(path, body).await.refused(422, "invalid_request");
        assert_eq!(told["faults"][0]["field"], "why", "{path}: {told}");
        assert_eq!(told["faults"][0]["problem"], "it is not said");
    }
}

#[tokio::test]
async fn s11_what_throws_work_away_needs_a_reason() {
    let place = Place::open();
    let step = place.create(r#"[{"action": "ghost", "message_group": "g"}]"#).await.remove(0);
    place.define(FAILS).await.ok();
    let workflow = place.start("order", json!({})).await;
    for verb in ["complete", "fail", "stop", "skip", "cancel"] {
        silent(&place, &format!("/v1/steps/{step}/{verb}")).await;
        place.post(&format!("/v1/steps/{step}/{verb}?dry_run=true"), "{}").await.ok();
    }
    for verb in ["cancel", "compensate", "skip_compensation", "mark_resolved"] {
        silent(&place, &format!("/v1/workflows/{workflow}/{verb}")).await;
    }
    for verb in ["cancel", "skip-head", "ignore"] {
        silent(&place, &format!("/v1/message-groups/g/{verb}")).await;
    }
    for decision in [
        json!({"decision": "cancel"}),
        json!({"decision": "compensate"}),
        json!({"decision": "mark_resolved"}),
        json!({"decision": "skip_compensation"}),
        json!({"decision": "retry_from_step", "step": "pay", "mode": "compensate_then_retry"}),
    ] {
        let path = format!("/v1/workflows/{workflow}/resolve");
        let told = place.post(&path, decision.to_string()).await.refused(422, "invalid_request");
        assert_eq!(told["faults"][0]["field"], "why", "{decision}: {told}");
    }
    let flow = json!({"type": "t", "key": "1", "steps": ["a"]}).to_string();
    let flow = place.post("/v1/flows", flow).await.ok()["flow"]["id"].as_str().unwrap().to_string();
    silent(&place, &format!("/v1/flows/{flow}/cancel")).await;
    place.post(&format!("/v1/flows/{flow}/cancel?dry_run=true"), "{}").await.ok();
    place.post("/v1/pools", r#"{"name": "card", "concurrency": 1}"#).await.ok();
    silent(&place, "/v1/pools/card/remove").await;
    for body in [
        json!({"archive": {"before": 1}}),
        json!({"purge": {"before": 1, "only_archive": true, "ticks": false, "why": " "}}),
    ] {
        let told = place.post("/v1/retention", body.to_string()).await.refused(422, "invalid_request");
        assert_eq!(told["faults"][0]["field"], "why", "{told}");
        place.post("/v1/retention?dry_run=true", body.to_string()).await.ok();
    }
    silent(&place, "/v1/executions/forget").await;
    place.post("/v1/executions/forget?dry_run=true", "{}").await.ok();
    for body in [json!({"off": true}), json!({"off": true, "dispatch_group": "beta", "why": ""})] {
        let told = place.post("/v1/breaker", body.to_string()).await.refused(422, "invalid_request");
        assert_eq!(told["faults"][0]["field"], "why", "{told}");
    }
    place.post("/v1/breaker", r#"{"off": false}"#).await.ok();
    let many = json!({"what": "steps", "filter": {"action": "ghost"}, "verb": "retry"});
    let told = place.post("/v1/bulk", many.to_string()).await.refused(422, "invalid_request");
    assert_eq!(told["faults"][0]["field"], "why", "{told}");
    // What can be taken back needs none.
    place.post(&format!("/v1/workflows/{workflow}/pause"), "{}").await.ok();
    place.post(&format!("/v1/workflows/{workflow}/resume"), "{}").await.ok();
    assert_eq!(place.step(&step).await["state"], "pending");
    place.close().await;
}

async fn post_if(place: &Place, path: &str, tag: &str, body: &str) -> Answer {
    let request = Request::post(path).header("host", "localhost").header("content-type", "application/json");
    place.send(request.header("if-match", tag).body(Body::from(body.to_string())).unwrap()).await
}

async fn tag(place: &Place, path: &str) -> String {
    place.get(path).await.headers["etag"].to_str().unwrap().into()
}

/// One of two who saw the same is told that it is not so any more.
fn one_is_late(one: &Answer, other: &Answer) {
    let (first, second) = if one.status == 200 { (one, other) } else { (other, one) };
    first.ok();
    second.refused(412, "changed");
}

#[tokio::test]
async fn s11_of_two_operators_at_once_one_is_told_to_look_again() {
    let place = Place::open();
    place.define(FAILS).await.ok();
    for round in 0..10 {
        let step = place.create(r#"[{"action": "ghost"}]"#).await.remove(0);
        let (skip, cancel) = (format!("/v1/steps/{step}/skip"), format!("/v1/steps/{step}/cancel"));
        let (seen, why) = (tag(&place, &format!("/v1/steps/{step}")).await, r#"{"why": "x"}"#);
        let (one, other) = join!(post_if(&place, &skip, &seen, why), post_if(&place, &cancel, &seen, why));
        one_is_late(&one, &other);

        let workflow = format!("/v1/workflows/{}", place.start("order", json!({})).await);
        place.until(&workflow, |shown| shown["steps"][0]["state"] == "pending").await;
        let seen = tag(&place, &workflow).await;
        let (pause, cancel) = (format!("{workflow}/pause"), format!("{workflow}/cancel"));
        let (one, other) = join!(post_if(&place, &pause, &seen, why), post_if(&place, &cancel, &seen, why));
        one_is_late(&one, &other);

        let body = |n: usize| json!({"name": "card", "concurrency": n}).to_string();
        place.post("/v1/pools", body(100 + round)).await.ok();
        let seen = tag(&place, "/v1/pools/card").await;
        let (more, less) = (body(200 + round), body(300 + round));
        let (one, other) =
            join!(post_if(&place, "/v1/pools", &seen, &more), post_if(&place, "/v1/pools", &seen, &less));
        one_is_late(&one, &other);
    }
    place.close().await;
}

#[tokio::test]
async fn a_pool_is_not_changed_by_somebody_who_saw_another() {
    let place = Place::open();
    let body = r#"{"name": "card", "concurrency": 2, "by": "anna"}"#;
    post_if(&place, "/v1/pools", "\"2\"", body).await.refused(412, "changed");
    let made = place.post("/v1/pools", body).await;
    assert_eq!(made.headers["etag"], "\"2\"");
    assert_eq!(tag(&place, "/v1/pools/card").await, "\"2\"");
    let rated = r#"{"name": "card", "rate": "100/s", "burst": 3, "by": "bo"}"#;
    post_if(&place, "/v1/pools", "\"3\"", rated).await.refused(412, "changed");
    let set = post_if(&place, "/v1/pools", "\"2\"", rated).await;
    assert_eq!(
        (set.ok()["rate"].as_str(), &set.headers["etag"]),
        (Some("100/s"), &"\"any-100-1000000-3\"".parse().unwrap())
    );
    post_if(&place, "/v1/pools", "\"2\"", body).await.refused(412, "changed");
    post_if(&place, "/v1/pools", "*", body).await.ok();
    let audit = place.get("/v1/audit").await.ok();
    let told = |n: usize| {
        ["who", "before", "after"].map(|field| audit["audit"][n][field].as_str().unwrap_or("").to_string())
    };
    assert_eq!(told(0)[0], "anna");
    assert_eq!((told(1)[0].as_str(), told(1)[2].as_str()), ("bo", "100/s with bursts of 3"));
    place.close().await;
}

#[tokio::test]
async fn s11_many_are_touched_only_by_somebody_who_knows_how_many() {
    let place = Place::open();
    let steps = |n: usize| vec![r#"{"action": "ghost"}"#; n].join(",");
    place.create(&format!("[{}]", steps(1_000))).await;
    let order = |confirm: Option<u64>| {
        let mut body = json!({"what": "steps", "filter": {"action": "ghost"}, "verb": "skip", "why": "x"});
        if let Some(n) = confirm {
            body["confirm"] = n.into();
        }
        body.to_string()
    };
    let ended = async |answer: Answer| {
        let id = answer.ok()["id"].as_str().unwrap().to_string();
        place.post(&format!("/v1/bulk/{id}/cancel"), "{}").await.ok();
    };
    ended(place.post("/v1/bulk", order(None)).await).await;
    place.create(&format!("[{}]", steps(1))).await;
    for (confirm, told) in [
        (None, "1001 are meant, and more than 1000 need to be confirmed"),
        (Some(1_000), "1001 are meant, and 1000 were confirmed"),
    ] {
        let refused = place.post("/v1/bulk", order(confirm)).await.refused(422, "invalid_request");
        let fault = &refused["faults"][0];
        assert_eq!((&fault["field"], &fault["problem"]), (&json!("confirm"), &json!(told)));
        assert_eq!(fault["fix"], "send `confirm: 1001` if that is what you want");
    }
    let preview = json!({"what": "steps", "filter": {"action": "ghost"}, "verb": "skip", "dry_run": true});
    let n = place.post("/v1/bulk", preview.to_string()).await.ok()["matched"].as_u64();
    assert_eq!(n, Some(1_001));
    ended(place.post("/v1/bulk", order(n)).await).await;
    // Fewer than were confirmed are no surprise.
    ended(place.post("/v1/bulk", order(Some(5_000))).await).await;
    place.close().await;
}
