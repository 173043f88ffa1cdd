//! What a call would pass over is refused: a parameter that it has not, and a revision that it does not look at.

use crate::access::filled;
use crate::place::Place;
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::json;
use stepfast_server as server;

/// Whoever sends a trigger may put anything behind its address; what else is not under `/v1/` is for people and for probes.
fn calls() -> impl Iterator<Item = (Method, String)> {
    let of = |route: server::Route| (route.method.clone(), filled(route.path));
    server::routes().into_iter().filter(|route| route.path.starts_with("/v1/")).map(of)
}

/// What a call was answered that was to be refused for what it asks.
async fn refused(place: &Place, (method, path): (Method, String)) -> Option<String> {
    let request = Request::builder().method(method.clone()).uri(&path).header("host", "localhost:7837");
    let request = request.header("content-type", "application/json");
    let answer = place.send(request.body(Body::from("{}")).unwrap()).await;
    let said = answer.text().to_string();
    (answer.status != 400).then(|| format!("{method} {path}: {} {said}", answer.status))
}

#[tokio::test]
async fn a_parameter_that_a_call_does_not_have_is_refused_by_every_route() {
    let place = Place::open();
    let mut heard = Vec::new();
    for (method, path) in calls() {
        let path = format!("{path}{}nonsense=1", if path.contains('?') { '&' } else { '?' });
        heard.extend(refused(&place, (method, path)).await);
    }
    assert!(heard.is_empty(), "{}", heard.join("\n"));
    let told = place.post("/v1/pools?dry_run=true", json!({"name": "p"}).to_string()).await;
    let told = told.refused(400, "invalid_request")["detail"].to_string();
    assert!(told.contains("`?dry_run=true`") && told.contains("body"), "{told}");
    assert_eq!(place.get("/v1/pools").await.ok()["pools"], json!([]));
    place.close().await;
}

#[tokio::test]
async fn a_revision_that_a_call_does_not_look_at_is_refused() {
    let place = Place::open();
    let breaker = json!({"off": true, "why": "x"}).to_string();
    let request = Request::post("/v1/breaker").header("host", "localhost:7837").header("if-match", "\"7\"");
    let request = request.header("content-type", "application/json").body(Body::from(breaker)).unwrap();
    let told = place.send(request).await.refused(400, "invalid_request");
    assert!(told["detail"].as_str().unwrap().starts_with("If-Match: "), "{told}");
    assert_eq!(place.get("/v1/breaker").await.ok()["can_dispatch_steps"], true);
    place.close().await;
}

#[tokio::test]
async fn steps_and_a_workflow_are_tried_out_and_none_is_made() {
    let place = Place::open();
    place.define("workflow: a\nversion: 1.0.0\ninput: { schema: { required: [id] } }\nsteps: [{ key: x, action: noop }]").await.ok();
    let steps = json!({"steps": [{"action": "a", "children": [{"action": "b"}]}]}).to_string();
    let would = place.post("/v1/steps?dry_run=true", steps).await.ok();
    assert_eq!(would, json!({"steps": 2, "dry_run": true}));
    let wrong = json!({"steps": [{"action": "a", "dispatch_group": "none"}]}).to_string();
    place.post("/v1/steps?dry_run=true", wrong).await.refused(422, "invalid_request");
    let would =
        place.post("/v1/workflows?dry_run=true", r#"{"workflow": "a", "input": {"id": 7}}"#).await.ok();
    assert_eq!(would, json!({"workflow": "a", "version": "1.0.0", "dry_run": true}));
    place.post("/v1/workflows?dry_run=true", r#"{"workflow": "a"}"#).await.refused(422, "invalid_request");
    place.post("/v1/workflows?dry_run=true", r#"{"workflow": "b"}"#).await.refused(404, "not_found");
    assert_eq!(place.get("/v1/steps").await.ok()["steps"], json!([]));
    assert_eq!(place.get("/v1/workflows").await.ok()["workflows"], json!([]));
    place.close().await;
}
