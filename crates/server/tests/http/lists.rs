//! Every list comes in pages that are asked for in the same words, and no page leaves anything out.

use crate::place::Place;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

/// All of a list, one by one, by the names of its items.
async fn one_by_one(place: &Place, path: &str, list: &str, name: impl Fn(&Value) -> String) -> Vec<String> {
    let sign = if path.contains('?') { '&' } else { '?' };
    let (mut names, mut after) = (Vec::new(), String::new());
    loop {
        let page = place.get(&format!("{path}{sign}limit=1{after}")).await.ok();
        let items = page[list].as_array().unwrap_or_else(|| panic!("{path} has no {list}: {page}"));
        assert!(items.len() <= 1, "{path}");
        names.extend(items.iter().map(&name));
        assert!(names.len() < 100, "{path} does not end");
        after = match page.get("next") {
            None => return names,
            Some(Value::Number(next)) => format!("&after={next}"),
            Some(next) => {
                format!("&after={}", encoded(next.as_str().unwrap_or_else(|| panic!("{path}: {page}"))))
            }
        };
    }
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

async fn whole(place: &Place, path: &str, list: &str, name: impl Fn(&Value) -> String) -> Vec<String> {
    let page = place.get(path).await.ok();
    page[list].as_array().unwrap().iter().map(name).collect()
}

const WAITS: &str = "
workflow: wait
version: 1.0.0
steps:
  - { key: a, action: noop, when: \"true\", pause_after: { trigger: go, auth: token, timeout: 1h } }
  - { key: b, action: noop, when: \"true\" }
";

async fn filled() -> Place {
    let mut place = Place::open();
    place.work(|_| {}).await;
    for name in ["b", "a", "c"] {
        let pool = json!({"name": name, "concurrency": 1});
        place.post("/v1/pools", pool.to_string()).await.ok();
        let channel = json!({"name": name, "kind": "webhook", "url": "https://example.com", "quiet": "1s"});
        place.post("/v1/channels", channel.to_string()).await.ok();
        place.post(&format!("/v1/channels/{name}/test"), "{}").await.ok();
        place.key("viewer").await;
    }
    place.define(WAITS).await.ok();
    for _ in 0..3 {
        let id = place.start("wait", json!({})).await;
        place.until_workflow(&id, "paused").await;
    }
    place
}

/// Steps that nobody runs, each with an alert, and three operations over all of them that nobody carries out.
async fn troubled(place: &Place) {
    place.create(r#"[{"action": "ghost"}, {"action": "ghost"}, {"action": "ghost"}]"#).await;
    for _ in 0..3 {
        let order = json!({"what": "steps", "filter": {"action": "ghost"}, "verb": "cancel", "why": "x"});
        let made = place.post("/v1/bulk", order.to_string()).await.ok();
        let path = format!("/v1/workflows/{}", made["id"].as_str().unwrap());
        place.until(&path, |shown| shown["steps"][0]["state"] == "pending").await;
    }
    let rule = Request::put("/v1/stuck/rules/step-waiting").header("host", "localhost");
    let rule = rule.header("content-type", "application/json").body(Body::from(r#"{"older_than": "0s"}"#));
    place.send(rule.unwrap()).await.ok();
    place.post("/v1/stuck/detect", "{}").await.ok();
}

#[tokio::test]
async fn pages_of_every_list_hold_the_same_as_the_whole() {
    let place = filled().await;
    let field = |name: &'static str| move |item: &Value| item[name].to_string();
    for (path, list, name) in [
        ("/v1/pools", "pools", "name"),
        ("/v1/channels", "channels", "name"),
        ("/v1/keys", "keys", "id"),
        ("/v1/groups", "groups", "dispatch_group"),
        ("/v1/nodes", "nodes", "id"),
        ("/v1/workflows", "workflows", "id"),
        ("/v1/notices", "notices", "channel"),
        ("/v1/pauses", "pauses", "workflow_id"),
        ("/v1/pauses?due_within=100000000", "pauses", "workflow_id"),
        ("/v1/definitions", "definitions", "workflow"),
    ] {
        let (ones, whole) =
            (one_by_one(&place, path, list, field(name)).await, whole(&place, path, list, field(name)).await);
        assert!(!whole.is_empty(), "{path} has nothing to list");
        assert_eq!(ones, whole, "{path}");
    }
    let rules = one_by_one(&place, "/v1/stuck/rules", "rules", |rule| rule["name"].to_string()).await;
    assert!(rules.len() > 3 && rules.is_sorted(), "{rules:?}");
    place.until("/v1/ticks", |page| !page["ticks"].as_array().unwrap().is_empty()).await;
    for (path, list, name) in [("/v1/audit", "audit", "target"), ("/v1/ticks", "ticks", "id")] {
        let before = whole(&place, path, list, field(name)).await;
        let ones = one_by_one(&place, path, list, field(name)).await;
        // Whatever came meanwhile stands in front.
        assert!(!before.is_empty() && ones.ends_with(&before), "{path}: {ones:?} {before:?}");
    }
    place.close().await;
}

#[tokio::test]
async fn pages_of_alerts_and_of_bulk_operations_hold_the_same_as_the_whole() {
    let place = Place::open();
    troubled(&place).await;
    for (path, list) in [("/v1/alerts?state=all", "alerts"), ("/v1/bulk", "bulk")] {
        let id = |item: &Value| item["id"].to_string();
        let (ones, whole) = (one_by_one(&place, path, list, id).await, whole(&place, path, list, id).await);
        assert!(whole.len() >= 3, "{path} fits on few pages: {whole:?}");
        assert_eq!(ones, whole, "{path}");
    }
    place.close().await;
}

#[tokio::test]
async fn what_was_sent_and_decided_comes_in_pages_too() {
    let place = filled().await;
    let workflows = place.get("/v1/workflows").await.ok();
    let id = workflows["workflows"][0]["id"].as_str().unwrap().to_string();
    for n in 0..3 {
        place.post(&format!("/v1/workflows/{id}/triggers/go"), json!({"n": n}).to_string()).await;
    }
    let sent =
        one_by_one(&place, &format!("/v1/workflows/{id}/triggers"), "triggers", |t| t["number"].to_string())
            .await;
    assert!(sent.len() == 3 && sent.iter().rev().is_sorted(), "{sent:?}");
    place.until_workflow(&id, "succeeded").await;
    let path = format!("/v1/workflows/{id}/decisions");
    let decided = one_by_one(&place, &path, "decisions", |d| d["step_key"].to_string()).await;
    assert_eq!(decided, ["\"a\"", "\"b\""]);
    for path in ["/v1/audit", "/v1/ticks", "/v1/notices", "/v1/pauses"] {
        place.get(&format!("{path}?after=nowhere")).await.refused(400, "invalid_request");
        place.get(&format!("{path}?limit=0")).await.refused(400, "invalid_request");
    }
    place.close().await;
}
