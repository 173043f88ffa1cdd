use crate::place::{Answer, Place};
use axum::body::Body;
use axum::http::request::Builder;
use axum::http::{Method, Request};

fn posted() -> Builder {
    Request::post("/v1/breaker").header("host", "localhost:7837").header("content-type", "application/json")
}

async fn off(place: &Place, request: Builder) -> Answer {
    place.send(request.body(Body::from(r#"{"off": true, "why": "x"}"#)).unwrap()).await
}

#[tokio::test]
async fn a_name_that_is_not_this_server_is_refused() {
    let place = Place::open();
    for host in
        ["evil.example", "evil.example:7837", "localhost.evil.example", "127.0.0.1.nip.io", "10.0.0.1"]
    {
        for path in ["/v1/steps", "/step-dispatcher", "/step-dispatcher/api", "/livez", "/nothing"] {
            let request = Request::get(path).header("host", host).body(Body::empty()).unwrap();
            place.send(request).await.refused(403, "forbidden");
        }
    }
    place.send(Request::get("/v1/steps").body(Body::empty()).unwrap()).await.refused(403, "forbidden");
    let rebound = Request::get("http://evil.example/v1/steps").header("host", "localhost");
    place.send(rebound.body(Body::empty()).unwrap()).await.refused(403, "forbidden");
    for host in ["localhost", "127.0.0.1:7837", "[::1]:7837"] {
        let request = Request::get("/v1/steps").header("host", host).body(Body::empty()).unwrap();
        assert_eq!(place.send(request).await.status, 200);
    }
    place.close().await;
}

#[tokio::test]
async fn another_origin_changes_nothing() {
    let place = Place::open();
    for origin in
        ["http://evil.example", "null", "http://localhost:9999", "https://localhost:7837", "http://localhost"]
    {
        off(&place, posted().header("origin", origin)).await.refused(403, "forbidden");
    }
    assert_eq!(place.get("/v1/breaker").await.ok()["can_dispatch_steps"], true);
    off(&place, posted().header("origin", "http://localhost:7837")).await.ok();
    assert_eq!(place.get("/v1/breaker").await.ok()["can_dispatch_steps"], false);
    place.close().await;
}

#[tokio::test]
async fn a_form_changes_nothing() {
    let place = Place::open();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let request = Request::post("/v1/breaker").header("host", "localhost").header("content-type", kind);
        off(&place, request).await.refused(415, "unsupported_media_type");
    }
    off(&place, Request::post("/v1/breaker").header("host", "localhost"))
        .await
        .refused(415, "unsupported_media_type");
    assert_eq!(place.get("/v1/breaker").await.ok()["can_dispatch_steps"], true);
    place.close().await;
}

/// What every answer of every test is held to, whatever it says: no code but our own, no frame, no guessing of types, nothing kept,
/// nothing for other origins.
pub fn hold(method: &Method, path: &str, answer: &Answer) {
    let place = format!("{method} {path} {}", answer.status);
    let header = |name: &str| match answer.headers.get(name) {
        Some(value) => value.to_str().unwrap(),
        None => panic!("{place} has no {name}"),
    };
    let policy = header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; "), "{place}: {policy}");
    // A drawing brings its colours along, and runs nothing.
    let is_drawing = answer.headers.get("content-type").is_some_and(|kind| kind == "image/svg+xml");
    let style = "style-src 'unsafe-inline'; ";
    let rest = if is_drawing { policy.replace(style, "") } else { policy.to_string() };
    assert!(!rest.contains("unsafe") && (!is_drawing || !rest.contains("script-src")), "{place}: {policy}");
    for part in ["base-uri 'none'", "form-action '", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{place}: {policy}");
    }
    let sources = policy.split(['"', ';', ' ']).filter(|word| word.contains('.') || word.contains('*'));
    assert_eq!(sources.count(), 0, "{place} trusts somebody else: {policy}");
    assert_eq!(header("x-content-type-options"), "nosniff", "{place}");
    assert_eq!(header("x-frame-options"), "DENY", "{place}");
    assert!(matches!(header("referrer-policy"), "no-referrer" | "same-origin"), "{place}");
    assert_eq!(header("cross-origin-opener-policy"), "same-origin", "{place}");
    assert_eq!(header("cross-origin-resource-policy"), "same-origin", "{place}");
    if !path.starts_with("/assets/") {
        assert_eq!(header("cache-control"), "no-store", "{place}");
    }
    if !answer.bytes.is_empty() {
        header("content-type");
    }
    let for_others = answer.headers.keys().find(|name| name.as_str().starts_with("access-control-"));
    assert_eq!(for_others, None, "{place}");
}

#[tokio::test]
async fn every_answer_keeps_the_browser_strict() {
    let place = Place::open();
    // What is answered is held to it where it is asked.
    assert_eq!(place.send(Request::get("/").body(Body::empty()).unwrap()).await.status, 403);
    for (page, status) in
        [("/step-dispatcher", 200), ("/v1/steps", 200), ("/nothing", 404), ("/assets/page.css", 200)]
    {
        let answer = place.get(page).await;
        assert_eq!(answer.status, status, "{page}");
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("script-src 'self'; style-src 'self'; connect-src 'self'"), "{policy}");
    }
    place.close().await;
}

#[tokio::test]
async fn what_no_database_keeps_is_refused_and_a_method_that_is_none_is_told() {
    let place = Place::open();
    for path in ["/v1/steps?action=a%00b", "/v1/message-groups/a%00b", "/v1/pools/%00"] {
        let told = place.get(path).await.refused(400, "invalid_request");
        assert!(told["detail"].as_str().unwrap().contains("NUL"), "{told}");
    }
    let request = Request::delete("/v1/steps").header("host", "localhost:7837").body(Body::empty()).unwrap();
    place.send(request).await.refused(405, "method_not_allowed");
    place.close().await;
}
