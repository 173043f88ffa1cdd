//! Channels over HTTP: put, listed, tried and removed; the secret is shown once, and the address of a chat never.

use crate::place::Place;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

/// What no answer and no page shows.
const CANARY: &str = "CANARY-hunter2";

fn webhook() -> String {
    json!({"name": "ops", "kind": "webhook", "url": "https://example.com/hook", "kinds": ["step.failed"], "quiet": "1h",
           "labels": {"team": "a"}, "per_minute": 5, "min_severity": "medium"})
    .to_string()
}

#[tokio::test]
async fn a_channel_is_put_listed_tried_and_removed() {
    let place = Place::open();
    let made = place.post("/v1/channels", webhook()).await.ok();
    let secret = made["secret"].as_str().unwrap().to_string();
    assert!(secret.starts_with("whsec_") && made["secrets"] == 1, "{made}");
    let again = place.post("/v1/channels", webhook()).await.ok();
    assert_eq!((&again["secret"], &again["revision"]), (&Value::Null, &json!(0)), "nothing changed");
    let changed = json!({"name": "ops", "kind": "webhook", "active": false, "audience": "user"}).to_string();
    let changed = place.post("/v1/channels", changed).await.ok();
    assert_eq!(
        (&changed["url"], &changed["active"], &changed["audience"], &changed["kinds"], &changed["revision"]),
        (&json!("https://example.com/hook"), &json!(false), &json!("user"), &json!([]), &json!(1)),
        "it keeps its address and its secret, and is else what was put"
    );
    place.post("/v1/channels", webhook()).await.ok();
    let listed = place.get("/v1/channels").await.ok();
    let view = &listed["channels"][0];
    assert_eq!(
        (&view["name"], &view["quiet"], &view["per_minute"], &view["labels"], &view["told"]),
        (&json!("ops"), &json!("1h"), &json!(5), &json!({"team": "a"}), &json!(0))
    );
    let refused = place.post("/v1/channels/ops/test", r#"{"severity": "low"}"#).await.ok();
    assert_eq!(
        (&refused["became"], &refused["why"]),
        (&json!("refused"), &json!("it takes nothing below `medium`"))
    );
    let sent = place.post("/v1/channels/ops/test", "{}").await.ok();
    assert_eq!(sent["became"], "sent");
    let step = place.get(&format!("/v1/steps/{}", sent["step_id"].as_str().unwrap())).await;
    assert_eq!((&step.ok()["action"], &step.ok()["relatable_id"]), (&json!("deliver"), &json!("ops")));
    let told = place.get("/v1/notices").await.ok();
    assert_eq!(
        (&told["notices"][0]["kind"], &told["notices"][0]["channel"]),
        (&json!("channel.test"), &json!("ops"))
    );
    let page = place.get("/notifications").await;
    assert!(
        page.text().contains("channel.test")
            && page.text().contains("step.failed from medium team=a, 5 a minute")
    );
    let bare = secret.strip_prefix("whsec_").unwrap();
    for path in ["/v1/channels", "/v1/audit", "/v1/notices", "/notifications", "/v1/steps?action=deliver"] {
        assert!(!place.get(path).await.text().contains(bare), "{path}");
    }
    assert!(
        !step.text().contains(bare) && step.text().contains("\"secrets\":[\"[secret]\"]"),
        "{}",
        step.text()
    );
    place.post("/v1/channels/ops/remove", "{}").await.ok();
    for path in ["/v1/channels/ops/remove", "/v1/channels/ops/test"] {
        place.post(path, "{}").await.refused(404, "not_found");
    }
    let audit = place.get("/v1/audit").await.ok();
    let verbs: Vec<&str> =
        audit["audit"].as_array().unwrap().iter().map(|row| row["verb"].as_str().unwrap()).collect();
    assert_eq!(verbs.iter().filter(|verb| verb.ends_with(" channel")).count(), 6, "{verbs:?}");
    place.close().await;
}

#[tokio::test]
async fn the_address_of_a_chat_is_shown_to_nobody() {
    let place = Place::open();
    let chat =
        json!({"name": "room", "kind": "chat", "url": format!("https://chat.example.com/T1/{CANARY}")});
    let made = place.post("/v1/channels", chat.to_string()).await;
    assert_eq!((&made.ok()["url"], &made.ok()["secret"]), (&json!("[secret]"), &Value::Null));
    let sent = place.post("/v1/channels/room/test", "{}").await.ok();
    let step = sent["step_id"].as_str().unwrap();
    let signed = json!({"name": "room", "kind": "chat", "secrets": [CANARY]}).to_string();
    let refused = place.post("/v1/channels", signed).await;
    refused.refused(422, "invalid_request");
    let bad = json!({"name": "room", "kind": "chat", "url": format!("https://chat.example.com/?{CANARY}")})
        .to_string();
    let bad = place.post("/v1/channels", bad).await;
    bad.refused(422, "invalid_request");
    let mut texts = vec![made.text().to_string(), refused.text().to_string(), bad.text().to_string()];
    let pages = ["/v1/channels", "/v1/notices", "/v1/audit", "/notifications", "/step-dispatcher/steps"];
    let of_step = [
        format!("/v1/steps/{step}"),
        format!("/step-dispatcher/steps/{step}"),
        format!("/v1/steps/{step}/attempts"),
    ];
    for path in pages.into_iter().map(String::from).chain(of_step) {
        texts.push(place.get(&path).await.text().to_string());
    }
    for text in texts {
        assert!(!text.contains(CANARY), "{text}");
    }
    place.close().await;
}

#[tokio::test]
async fn what_is_wrong_is_told_at_once_and_a_secret_is_kept_nowhere() {
    let place = Place::open();
    let words =
        json!({"name": "a", "kind": "mail", "audience": "all", "min_severity": "loud", "quiet": "soon"});
    let told = place.post("/v1/channels", words.to_string()).await.refused(422, "invalid_request");
    let fields = |told: &Value| -> Vec<String> {
        told["faults"].as_array().unwrap().iter().map(|f| f["field"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(fields(&told), ["kind", "audience", "min_severity", "quiet"]);
    let bad = json!({"name": "a b", "kind": "webhook", "url": "ftp://x", "per_minute": 0, "kinds": ["a b"]});
    let told = place.post("/v1/channels", bad.to_string()).await.refused(422, "invalid_request");
    assert_eq!(fields(&told), ["name", "url", "kinds[0]", "per_minute"]);
    let given = json!({"name": "x", "kind": "webhook", "url": "https://example.com", "secrets": [CANARY]});
    let told = place.post("/v1/channels", given.to_string()).await.refused(422, "invalid_request");
    assert!(!told.to_string().contains(CANARY), "{told}");
    let once = || {
        let request = Request::post("/v1/channels").header("host", "localhost:7837");
        let request = request.header("content-type", "application/json").header("idempotency-key", "a");
        place.send(request.body(Body::from(webhook())).unwrap())
    };
    assert!(once().await.ok()["secret"].is_string());
    let again = once().await.refused(409, "answer_not_kept");
    assert!(
        again["detail"].as_str().unwrap().contains("shown once"),
        "an answer that holds a secret is not kept"
    );
    place.close().await;
}
