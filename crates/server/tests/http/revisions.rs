//! What changes is shown with its `ETag`, and is not changed by somebody who has seen another state of it.

use crate::place::{Answer, Place};
use axum::body::Body;
use axum::http::Request;
use serde_json::json;

async fn post_if(place: &Place, path: &str, tag: &str, body: &str) -> Answer {
    let request = Request::post(path)
        .header("host", "localhost:7837")
        .header("content-type", "application/json")
        .header("if-match", tag);
    place.send(request.body(Body::from(body.to_string())).unwrap()).await
}

fn tag(answer: &Answer) -> String {
    answer.headers["etag"].to_str().unwrap().to_string()
}

#[tokio::test]
async fn a_step_is_not_moved_by_somebody_who_saw_another_state_of_it() {
    let place = Place::open();
    let step = place.create(r#"[{"action": "ghost"}]"#).await.remove(0);
    let seen = tag(&place.get(&format!("/v1/steps/{step}")).await);
    let skip = format!("/v1/steps/{step}/skip");
    post_if(&place, &skip, "\"99-0\"", r#"{"why": "x"}"#).await.refused(412, "changed");
    post_if(&place, &skip, "\"99\"", r#"{"why": "x"}"#).await.refused(400, "invalid_request");
    post_if(&place, &format!("{skip}?dry_run=true"), "\"99-0\"", "{}").await.refused(412, "changed");
    assert_eq!(place.step(&step).await["state"], "pending");
    post_if(&place, &skip, &seen, r#"{"why": "x"}"#).await.ok();
    assert_eq!(place.step(&step).await["state"], "skipped");
    let after = tag(&place.get(&format!("/v1/steps/{step}")).await);
    assert_ne!(seen, after);
    place.close().await;
}

/// A claim is on record before the row of the step says so.
#[tokio::test]
async fn a_step_that_was_claimed_since_is_another() {
    let mut place = Place::open();
    let step = place.create(r#"[{"action": "endless"}]"#).await.remove(0);
    let seen = tag(&place.get(&format!("/v1/steps/{step}")).await);
    let add = |registry: &mut worker::Registry| {
        registry.raw("endless", crate::place::endless);
    };
    place.work(add).await;
    place.until_state(&step, "running").await;
    post_if(&place, &format!("/v1/steps/{step}/cancel"), &seen, r#"{"why": "x"}"#)
        .await
        .refused(412, "changed");
    assert_eq!(place.step(&step).await["state"], "running");
    place.close().await;
}

#[tokio::test]
async fn a_bulk_operation_is_not_cancelled_by_somebody_who_saw_another_state_of_it() {
    let place = Place::open();
    let order = json!({"what": "steps", "filter": {"action": "ghost"}, "verb": "cancel", "why": "x"});
    let made = place.post("/v1/bulk", order.to_string()).await.ok();
    let id = made["id"].as_str().unwrap();
    // Nobody works, so it goes no further.
    place.until(&format!("/v1/workflows/{id}"), |shown| shown["steps"][0]["state"] == "pending").await;
    let (address, cancel) = (format!("/v1/bulk/{id}"), format!("/v1/bulk/{id}/cancel"));
    let seen = tag(&place.get(&address).await);
    post_if(&place, &cancel, "\"99\"", "{}").await.refused(412, "changed");
    post_if(&place, &cancel, "\"3-1\"", "{}").await.refused(400, "invalid_request");
    assert_eq!(place.get(&address).await.ok()["state"], "running");
    post_if(&place, &cancel, &seen, "{}").await.ok();
    place.until(&address, |bulk| bulk["state"] == "cancelled").await;
    assert_ne!(tag(&place.get(&address).await), seen);
    place.close().await;
}

#[tokio::test]
async fn a_subscription_and_a_flow_are_guarded_too() {
    let place = Place::open();
    let body = json!({"name": "x", "url": "https://example.com", "types": ["*"]});
    let made = place.post("/v1/subscriptions", body.to_string()).await.ok();
    let address = format!("/v1/subscriptions/{}", made["id"].as_str().unwrap());
    let seen = tag(&place.get(&address).await);
    post_if(&place, &address, &seen, r#"{"name": "y"}"#).await.ok();
    post_if(&place, &address, &seen, r#"{"name": "z"}"#).await.refused(412, "changed");
    assert_eq!(place.get(&address).await.ok()["name"], "y");

    let flow = place.post("/v1/flows", r#"{"type": "pay", "key": "7", "steps": ["a", "b"]}"#).await.ok();
    let address = format!("/v1/flows/{}", flow["flow"]["id"].as_str().unwrap());
    let seen = tag(&place.get(&address).await);
    place.post(&format!("{address}/steps/a/complete"), "{}").await.ok();
    post_if(&place, &format!("{address}/cancel"), &seen, r#"{"why": "x"}"#).await.refused(412, "changed");
    let seen = tag(&place.get(&address).await);
    post_if(&place, &format!("{address}/cancel"), &seen, r#"{"why": "x"}"#).await.ok();
    place.close().await;
}

#[tokio::test]
async fn what_somebody_changed_since_is_not_removed() {
    let place = Place::open();
    let body = json!({"name": "x", "url": "https://example.com", "types": ["*"]});
    let made = place.post("/v1/subscriptions", body.to_string()).await.ok();
    let subscription = format!("/v1/subscriptions/{}", made["id"].as_str().unwrap());
    let channel = json!({"name": "ops", "kind": "webhook", "url": "https://example.com"});
    place.post("/v1/channels", channel.to_string()).await.ok();
    place.post("/v1/pools", r#"{"name": "p", "concurrency": 1}"#).await.ok();
    let things = [
        (subscription.as_str(), subscription.as_str(), r#"{"name": "y"}"#),
        ("/v1/channels/ops", "/v1/channels", r#"{"name": "ops", "kind": "webhook", "per_minute": 7}"#),
        ("/v1/pools/p", "/v1/pools", r#"{"name": "p", "concurrency": 2}"#),
    ];
    for (at, change, body) in things {
        let before = tag(&place.get(at).await);
        post_if(&place, change, &before, body).await.ok();
        let remove = format!("{at}/remove");
        let why = if at.contains("pools") { r#"{"why": "x"}"# } else { "{}" };
        post_if(&place, &remove, &before, why).await.refused(412, "changed");
        post_if(&place, change, &before, body).await.refused(412, "changed");
        let now = tag(&place.get(at).await);
        assert_ne!(before, now, "{at}");
        post_if(&place, &remove, &now, why).await.ok();
        place.get(at).await.refused(404, "not_found");
    }
    place.close().await;
}

#[tokio::test]
async fn definitions_and_channels_say_what_they_are() {
    let place = Place::open();
    place.define("workflow: a\nversion: 1.0.0\nsteps: [{ key: x, action: noop }]").await.ok();
    place
        .define("workflow: a\nversion: 1.1.0\nsteps: [{ key: x, action: echo }, { key: y, action: noop }]")
        .await
        .ok();
    let [first, second] = ["/v1/definitions/a/1.0.0", "/v1/definitions/a"].map(|path| place.get(path));
    let (first, second) = (first.await, second.await);
    assert_ne!(tag(&first), tag(&second));
    let diff = place.get("/v1/definitions/a/1.0.0/diff?to=1.1.0").await.ok();
    let words: Vec<&str> =
        diff["changes"].as_array().unwrap().iter().map(|c| c["change"].as_str().unwrap()).collect();
    assert!(words.contains(&"added") && words.contains(&"option"), "{diff}");
    assert_eq!(place.get("/v1/definitions/a/1.0.0/diff?to=1.0.0").await.ok()["changes"], json!([]));
    let channel = json!({"name": "ops", "kind": "webhook", "url": "https://example.com"});
    place.post("/v1/channels", channel.to_string()).await.ok();
    assert!(tag(&place.get("/v1/channels/ops").await).starts_with('"'));
    place.get("/v1/channels/nobody").await.refused(404, "not_found");
    place.close().await;
}

#[tokio::test]
async fn the_whole_database_is_looked_at_and_the_schema_is_told() {
    let place = Place::open();
    place.create(r#"[{"action": "ghost"}]"#).await;
    let checked = place.get("/v1/check").await.ok();
    assert_eq!(checked["clean"], true, "{checked}");
    assert!(checked["invariants"].as_u64().unwrap() > 20, "{checked}");
    assert_eq!(
        place.get("/definition.schema.json").await.ok()["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    place.close().await;
}
