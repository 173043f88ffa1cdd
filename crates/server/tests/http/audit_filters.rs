//! Who touched this? The audit by who, what, to what and when, for programs and for people.

use crate::place::{Answer, Place, ask, peer};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

fn targets(page: &Value) -> Vec<&str> {
    page["audit"].as_array().unwrap().iter().map(|row| row["target"].as_str().unwrap()).collect()
}

async fn put_pool(place: &Place, name: &str, concurrency: u32, by: &str) {
    let body = json!({"name": name, "concurrency": concurrency, "by": by});
    place.post("/v1/pools", body.to_string()).await.ok();
}

/// As an address writes it.
fn coded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

async fn with_key(place: &Place, path: &str, key: &str) -> Answer {
    let request = Request::get(path).header("host", "steps.example").extension(peer("203.0.113.9:1"));
    let request = request.header("authorization", format!("Bearer {key}"));
    ask(&place.router, request.body(Body::empty()).unwrap()).await
}

/// A step that somebody cancelled, among pools of two people.
async fn touched(place: &Place) -> String {
    put_pool(place, "api", 1, "ada").await;
    put_pool(place, "mail", 1, "bob").await;
    let step = place.create(r#"[{"action": "ghost"}]"#).await.remove(0);
    let why = json!({"by": "ada", "why": "wrong order"}).to_string();
    place.post(&format!("/v1/steps/{step}/cancel"), why).await.ok();
    put_pool(place, "api", 2, "bob").await;
    step
}

#[tokio::test]
async fn the_audit_is_asked_by_who_what_and_to_what() {
    let place = Place::open();
    let step = touched(&place).await;
    let about = format!("step {step}");
    for (query, expected) in [
        ("who=ada".to_string(), vec![about.as_str(), "pool api"]),
        ("verb=cancel".into(), vec![&about]),
        (format!("target={step}"), vec![&about]),
        (format!("target={}", coded(&about)), vec![&about]),
        ("target=pool%20api".into(), vec!["pool api", "pool api"]),
        ("target=pool%20api&who=ada".into(), vec!["pool api"]),
        ("who=ada&verb=cancel&target=pool%20api".into(), vec![]),
        ("from=2000-01-01T00:00:00Z&to=2001-01-01T00:00:00Z".into(), vec![]),
        ("who=bob&from=2000-01-01T00:00:00Z".into(), vec!["pool api", "pool mail"]),
    ] {
        let whole = place.get(&format!("/v1/audit?{query}")).await.ok();
        assert_eq!((targets(&whole), &whole["next"]), (expected.clone(), &Value::Null), "{query}");
        let (mut after, mut ones) = (String::new(), Vec::new());
        loop {
            let page = place.get(&format!("/v1/audit?limit=1&{query}{after}")).await.ok();
            ones.extend(targets(&page).into_iter().map(String::from));
            let Some(next) = page["next"].as_str() else { break };
            after = format!("&after={next}");
        }
        assert_eq!(ones, expected, "{query}");
    }
    place.close().await;
}

/// From an instant on, and before the next.
#[tokio::test]
async fn the_audit_is_asked_by_when() {
    let place = Place::open();
    touched(&place).await;
    let all = place.get("/v1/audit").await.ok();
    let rows = all["audit"].as_array().unwrap();
    let at = |n: usize| coded(rows[n]["at"].as_str().unwrap());
    let between = place.get(&format!("/v1/audit?from={}&to={}", at(2), at(0))).await.ok();
    assert_eq!(targets(&between), targets(&all)[1..3]);
    place.close().await;
}

#[tokio::test]
async fn what_cannot_be_asked_of_the_audit_is_refused() {
    let place = Place::open();
    let long = format!("target={}", "x".repeat(1_001));
    for (query, told) in [
        ("whom=ada", "unknown field `whom`, expected one of `who`, `verb`, `target`, `from`, `to`"),
        ("who=", "who: it is empty; leave it out"),
        (&long, "target: it has 1001 bytes; use at most 1000"),
        ("from=yesterday", "from: `yesterday` is not an instant"),
        ("from=2027-01-16T00:00:00Z&to=2027-01-15T00:00:00Z", "from: it is after `to`"),
        ("after=nowhere", "after: `nowhere` is not a place in this list"),
    ] {
        let problem = place.get(&format!("/v1/audit?{query}")).await.refused(400, "invalid_request");
        assert!(problem["detail"].as_str().unwrap().contains(told), "{problem}");
    }
    let scoped = json!({"name": "ours", "role": "admin", "scope": ["default"]}).to_string();
    let scoped = place.post("/v1/keys", scoped).await.ok()["key"].as_str().unwrap().to_string();
    for path in ["/v1/audit?who=ada", "/audit?who=ada"] {
        assert_eq!(with_key(&place, path, &scoped).await.status, 403, "{path}");
    }
    place.close().await;
}

/// A key is who it is, wherever it comes from.
#[tokio::test]
async fn a_key_is_asked_for_with_and_without_its_address() {
    let place = Place::open();
    let (key, id) = place.key("admin").await;
    let request = Request::post("/v1/pools").header("host", "steps.example").extension(peer("203.0.113.9:1"));
    let request = request.header("authorization", format!("Bearer {key}"));
    let request = request.header("content-type", "application/json");
    let body = json!({"name": "api", "concurrency": 1}).to_string();
    ask(&place.router, request.body(Body::from(body)).unwrap()).await.ok();
    let who = format!("the admin (key {id})");
    for (who, n) in [(who.clone(), 1), (format!("{who} from 203.0.113.9"), 1), (format!("{who} from 1"), 0)] {
        let page = place.get(&format!("/v1/audit?who={}", coded(&who))).await.ok();
        assert_eq!(targets(&page).len(), n, "{who}");
    }
    let made = place.get(&format!("/v1/audit?target={}", coded(&format!("key {id}")))).await.ok();
    assert_eq!(targets(&made), [format!("key {id} (the admin)")]);
    place.close().await;
}

#[tokio::test]
async fn the_page_of_the_audit_has_a_form_that_keeps_what_was_asked() {
    let place = Place::open();
    touched(&place).await;
    let asked = "/audit?who=&verb=&target=pool+api&from=2000-01-01T00%3A00%3A00Z&to=&limit=1";
    let page = place.get(asked).await;
    let text = page.text();
    for part in [
        "<label for=\"target\">",
        "id=\"target\" name=\"target\" type=\"search\" value=\"pool api\"",
        "name=\"from\" type=\"search\" value=\"2000-01-01T00:00:00Z\"",
        "href=\"/audit?who=bob\"",
        "href=\"/audit?target=pool%20api\"",
        "href=\"/audit\">All changes</a>",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let older = text.split("href=\"/audit?after=").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let older = format!("/audit?after={}", older.replace("&amp;", "&"));
    assert!(older.contains("&target=pool%20api&from=2000") && older.ends_with("&limit=1"), "{older}");
    let next = place.get(&older).await;
    assert!(next.text().contains("href=\"/audit?who=ada\"") && !next.text().contains("/audit?who=bob"));
    let none = place.get("/audit?who=nobody+else").await;
    assert!(none.text().contains("No change is like that."), "{}", none.text());
    place.get("/audit?from=noon").await.refused(400, "invalid_request");
    place.close().await;
}
