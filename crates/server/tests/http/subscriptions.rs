//! Subscriptions over HTTP: made, listed by pages, changed, tried and removed; the secret is shown once.

use crate::place::Place;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

fn body(name: &str) -> String {
    json!({"name": name, "url": "https://example.com/hooks", "types": ["stepfast.workflow.*"], "labels": {"team": "a"}}).to_string()
}

#[tokio::test]
async fn a_subscription_is_made_shown_changed_tried_and_removed() {
    let place = Place::open();
    let answer = place.post("/v1/subscriptions", body("shop")).await;
    assert_eq!(answer.status, 201);
    let made = answer.ok();
    let (id, secret) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    assert!(secret.starts_with("whsec_") && secret.len() > 40, "{made}");
    let path = format!("/v1/subscriptions/{id}");
    let shown = place.get(&path).await.ok();
    assert_eq!(
        (&shown["types"], &shown["labels"], &shown["active"], &shown["revision"]),
        (&json!(["workflow.*"]), &json!({"team": "a"}), &json!(true), &json!(0))
    );
    for path in [path.as_str(), "/v1/subscriptions", "/v1/audit"] {
        assert!(!place.get(path).await.text().contains("whsec_"), "{path}");
    }
    let changed = place.post(&path, r#"{"workflow": "order", "active": false}"#).await.ok();
    assert_eq!(
        (
            &changed["workflow"],
            &changed["active"],
            &changed["name"],
            &changed["secret"],
            &changed["revision"]
        ),
        (&json!("order"), &json!(false), &json!("shop"), &Value::Null, &json!(1))
    );
    let renewed = place.post(&path, r#"{"workflow": "", "secrets": "renew"}"#).await.ok();
    assert_eq!(renewed["workflow"], Value::Null);
    assert!(renewed["secret"].as_str().is_some_and(|new| new.starts_with("whsec_") && new != secret));
    place.post(&path, r#"{"secrets": "drop_old"}"#).await.ok();
    place.post(&path, r#"{"secrets": "all"}"#).await.refused(422, "invalid_request");
    let tried = place.post(&format!("{path}/test"), "{}").await;
    assert_eq!(tried.status, 201);
    let step = place.get(&format!("/v1/steps/{}", tried.ok()["step_id"].as_str().unwrap())).await;
    assert_eq!((&step.ok()["action"], &step.ok()["relatable_id"]), (&json!("deliver"), &json!(id)));
    assert!(step.text().contains("\"secrets\":[\"[secret]\"]"), "{}", step.text());
    place.post(&format!("{path}/remove"), "{}").await.ok();
    place.get(&path).await.refused(404, "not_found");
    for verb in ["", "/remove", "/test"] {
        place.post(&format!("{path}{verb}"), "{}").await.refused(404, "not_found");
    }
    let audit = place.get("/v1/audit").await.ok();
    let verbs: Vec<&str> =
        audit["audit"].as_array().unwrap().iter().map(|row| row["verb"].as_str().unwrap()).collect();
    assert_eq!(verbs.iter().filter(|verb| verb.ends_with("subscription")).count(), 5, "{verbs:?}");
    place.close().await;
}

#[tokio::test]
async fn subscriptions_are_listed_by_pages_and_there_are_only_so_many() {
    let place = Place::open();
    for n in 0..100 {
        place.post("/v1/subscriptions", body(&format!("s{n}"))).await.ok();
    }
    let told = place.post("/v1/subscriptions", body("one more")).await.refused(422, "invalid_request");
    assert!(told.to_string().contains("there are 100 subscriptions already"), "{told}");
    let (mut names, mut ids, mut after) = (std::collections::BTreeSet::new(), Vec::new(), String::new());
    loop {
        let page = place.get(&format!("/v1/subscriptions?limit=30{after}")).await.ok();
        let rows = page["subscriptions"].as_array().unwrap().clone();
        names.extend(rows.iter().map(|row| row["name"].to_string()));
        ids.extend(rows.iter().map(|row| row["id"].to_string()));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!((names.len(), ids.len()), (100, 100), "each once");
    assert!(ids.is_sorted());
    place.get("/v1/subscriptions?after=x").await.refused(400, "invalid_request");
    place.close().await;
}

#[tokio::test]
async fn what_is_wrong_is_told_at_once_and_a_secret_is_kept_nowhere() {
    let place = Place::open();
    let bad = json!({"name": "", "url": "ftp://x", "types": [], "labels": {"": ""}});
    let told = place.post("/v1/subscriptions", bad.to_string()).await.refused(422, "invalid_request");
    let fields: Vec<&str> =
        told["faults"].as_array().unwrap().iter().map(|f| f["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["name", "url", "types", "labels"]);
    let given = json!({"name": "x", "url": "https://example.com", "types": ["*"], "secret": "hunter2"});
    let told = place.post("/v1/subscriptions", given.to_string()).await.refused(422, "invalid_request");
    assert!(!told.to_string().contains("hunter2"), "{told}");
    let once = || {
        let request = Request::post("/v1/subscriptions").header("host", "localhost:7837");
        let request = request.header("content-type", "application/json").header("idempotency-key", "a");
        place.send(request.body(Body::from(body("twice"))).unwrap())
    };
    assert!(once().await.ok()["secret"].is_string());
    once().await.refused(409, "answer_not_kept");
    let made = place.get("/v1/subscriptions").await.ok();
    let twice = made["subscriptions"].as_array().unwrap().iter().filter(|s| s["name"] == "twice").count();
    assert_eq!(twice, 1, "it is not made again, and its secret is not told again");
    place.close().await;
}
