//! What is stuck, over HTTP: rules, looks, alerts, what people do to them, and the pages.

use crate::place::Place;
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

/// A call with another method than the usual ones.
async fn call(place: &Place, method: Method, path: &str, body: &str) -> crate::place::Answer {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    let request = request.header("content-type", "application/json").body(Body::from(body.to_string()));
    place.send(request.unwrap()).await
}

async fn rule(place: &Place, name: &str, body: &str) -> Value {
    call(place, Method::PUT, &format!("/v1/stuck/rules/{name}"), body).await.ok()
}

/// A step that nobody takes is stuck at once, and grave.
async fn stuck(place: &Place) -> String {
    rule(place, "step-waiting", r#"{"older_than": "0s", "severity": "critical", "by": "anna"}"#).await;
    place.create(r#"[{"action": "nobody.runs.this", "label": "charge"}]"#).await.remove(0)
}

async fn look(place: &Place, body: &str) -> Value {
    place.post("/v1/stuck/detect", body.to_string()).await.ok()
}

#[tokio::test]
async fn an_alert_is_found_listed_worked_on_and_closed() {
    let place = Place::open();
    let step = stuck(&place).await;
    let dry = look(&place, r#"{"dry_run": true}"#).await;
    assert_eq!((&dry["total"], &dry["found"][0]["entity_id"]), (&json!(1), &json!(step)));
    assert_eq!(place.get("/v1/alerts").await.ok()["alerts"], json!([]), "a dry run opens nothing");
    let found = look(&place, r#"{"auto_resolve": true}"#).await;
    assert_eq!(
        (&found["opened"], &found["escalated"], &found["by_entity"]["step"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let listed = place.get("/v1/alerts?queue=true&severity=critical&entity=step&assigned=").await.ok();
    let id = listed["alerts"][0]["id"].as_u64().unwrap();
    assert_eq!(
        (&listed["alerts"][0]["reason"], &listed["alerts"][0]["in_review"]),
        (&json!("step-waiting"), &json!(true))
    );
    place.post(&format!("/v1/alerts/{id}/ack"), r#"{"by": "anna"}"#).await.ok();
    place.post(&format!("/v1/alerts/{id}/ack"), r#"{"by": "anna"}"#).await.refused(409, "refused");
    place.post(&format!("/v1/alerts/{id}/assign"), r#"{"to": "bo", "by": "anna"}"#).await.ok();
    place.post(&format!("/v1/alerts/{id}/note"), r#"{"text": "asked", "by": "bo"}"#).await.ok();
    place.post(&format!("/v1/alerts/{id}/resolve"), r#"{"by": "bo"}"#).await.refused(409, "refused");
    let resolved =
        place.post(&format!("/v1/alerts/{id}/resolve"), r#"{"text": "done by hand", "by": "bo"}"#).await.ok();
    assert_eq!((&resolved["state"], &resolved["closed_by"]), (&json!("closed"), &json!("bo")));
    place.post(&format!("/v1/alerts/{id}/reopen"), r#"{"text": "not yet", "by": "bo"}"#).await.ok();
    let shown = place.get(&format!("/v1/alerts/{id}")).await.ok();
    let history: Vec<&str> =
        shown["history"].as_array().unwrap().iter().filter_map(|m| m["moment"].as_str()).collect();
    assert_eq!(
        history,
        ["opened", "admin_notified", "escalated", "acknowledged", "assigned", "note", "resolved", "reopened"]
    );
    place.post(&format!("/v1/steps/{step}/cancel"), r#"{"why": "enough"}"#).await.ok();
    let last = look(&place, "{}").await;
    assert_eq!(last["closed"], json!([]), "only a person closes what a person opened again");
    place.post(&format!("/v1/alerts/{id}/resolve"), r#"{"text": "now it is", "by": "bo"}"#).await.ok();
    let figures = place.get("/v1/alerts/figures").await.ok();
    assert_eq!((&figures["open"], &figures["closed"]), (&json!(0), &json!(1)));
    let closed = place.get("/v1/alerts?state=closed&assigned=bo").await.ok();
    assert_eq!(closed["alerts"][0]["closed_by"], "bo");
    place.close().await;
}

#[tokio::test]
async fn rules_are_listed_changed_and_taken_off_the_record() {
    let place = Place::open();
    let of = async |name: &str| {
        let page = place.get("/v1/stuck/rules").await.ok();
        page["rules"].as_array().unwrap().iter().find(|rule| rule["name"] == name).cloned()
    };
    assert_eq!(of("step-waiting").await.unwrap()["source"], "default");
    let put = rule(&place, "step-waiting", r#"{"older_than": "2h30m", "by": "anna"}"#).await;
    assert_eq!(
        (&put["older_than"], &put["source"], &put["severity"]),
        (&json!("2h30m"), &json!("api"), &json!("high"))
    );
    let own = r#"{"detect": {"action": "bonus.lost", "every": "5m"}, "remedy": "escalate", "by": "anna"}"#;
    assert_eq!(rule(&place, "bonus", own).await["detect"]["every"], "5m");
    let problem = call(
        &place,
        Method::PUT,
        "/v1/stuck/rules/odd",
        r#"{"entity": "step", "remedy": "pray", "older_than": "5"}"#,
    );
    let problem = problem.await.refused(422, "invalid_request");
    let fields: Vec<&str> =
        problem["faults"].as_array().unwrap().iter().filter_map(|f| f["field"].as_str()).collect();
    assert_eq!(fields, ["older_than", "remedy"]);
    let problem =
        call(&place, Method::PUT, "/v1/stuck/rules/odd", r#"{"entity": "breaker", "remedy": "retry"}"#);
    assert_eq!(
        problem.await.refused(422, "invalid_request")["faults"][0]["problem"],
        "`retry` is nothing that can be done to a breaker"
    );
    call(&place, Method::PUT, "/v1/stuck/rules/odd", r#"{"name": "even"}"#)
        .await
        .refused(422, "invalid_request");
    call(&place, Method::DELETE, "/v1/stuck/rules/step-waiting", r#"{"by": "anna"}"#).await.ok();
    assert_eq!(of("step-waiting").await.unwrap()["older_than"], "1h");
    call(&place, Method::DELETE, "/v1/stuck/rules/step-waiting", "{}").await.refused(404, "not_found");
    call(&place, Method::PUT, "/v1/stuck/auto", r#"{"auto": false, "by": "anna"}"#).await.ok();
    assert_eq!(place.get("/v1/stuck/rules").await.ok()["auto"], false);
    let audit = place.get("/v1/audit").await.ok();
    let verbs: Vec<&str> =
        audit["audit"].as_array().unwrap().iter().filter_map(|a| a["verb"].as_str()).collect();
    assert_eq!(verbs, ["switch stuck remedies", "remove stuck rule", "set stuck rule", "set stuck rule"]);
    place.close().await;
}

#[tokio::test]
async fn the_pages_show_the_queue_and_one_alert() {
    let place = Place::open();
    let step = stuck(&place).await;
    assert!(place.get("/alerts").await.text().contains("no alert is like that"));
    look(&place, "{}").await;
    let id = place.get("/v1/alerts").await.ok()["alerts"][0]["id"].as_u64().unwrap();
    let list = place.get("/alerts?queue=true").await;
    assert!(
        list.text().contains(&format!("/alerts/{id}")) && list.text().contains("charge"),
        "{}",
        list.text()
    );
    for (query, is_listed) in [
        ("severity=critical&assigned=&rule=step-waiting", true),
        ("severity=low", false),
        ("assigned=bo", false),
    ] {
        let list = place.get(&format!("/alerts?{query}")).await;
        assert_eq!(list.text().contains(&format!("href=\"/alerts/{id}\"")), is_listed, "{query}");
    }
    let list = place.get("/alerts?severity=critical&limit=5").await;
    for chip in [
        "href=\"/alerts?severity=high&amp;limit=5\"",
        "href=\"/alerts?severity=critical&amp;assigned=&amp;limit=5\"",
        "href=\"/alerts?severity=critical&amp;rule=step-waiting&amp;limit=5\"",
        "href=\"/alerts?limit=5\"",
        "href=\"/alerts?state=closed&amp;severity=critical&amp;limit=5\"",
    ] {
        assert!(list.text().contains(chip), "{chip} is not in {}", list.text());
    }
    let one = place.get(&format!("/alerts/{id}")).await;
    for part in ["step-waiting", "critical", &step, "data-verb=\"resolve\"", "escalated", "/assets/alert.js"]
    {
        assert!(one.text().contains(part), "{part} in {}", one.text());
    }
    assert!(place.get("/assets/alert.js").await.text().contains("review"));
    place.get("/alerts/99").await.refused(404, "not_found");
    place.get("/v1/alerts?state=odd").await.refused(400, "invalid_request");
    place.post(&format!("/v1/alerts/{id}/bless"), "{}").await.refused(404, "not_found");
    let overview = place.get("/step-dispatcher/api").await.ok();
    assert_eq!(
        (&overview["open_alerts"], &overview["words"]["alerts"]),
        (&json!(1), &json!("1 alert is open."))
    );
    place.close().await;
}
