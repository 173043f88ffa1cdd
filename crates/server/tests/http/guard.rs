use crate::place::{Answer, Place};
use axum::body::Body;
use axum::http::Request;
use axum::http::request::Builder;

fn posted() -> Builder {
    Request::post("/v1/breaker").header("host", "localhost:7837").header("content-type", "application/json")
}

async fn off(place: &Place, request: Builder) -> Answer {
    place.send(request.body(Body::from(r#"{"off": true}"#)).unwrap()).await
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

#[tokio::test]
async fn every_answer_keeps_the_browser_strict() {
    let place = Place::open();
    let refused = place.send(Request::get("/").body(Body::empty()).unwrap()).await;
    let pages = ["/step-dispatcher", "/v1/steps", "/nothing", "/assets/page.css"];
    let mut answers = vec![refused];
    for page in pages {
        answers.push(place.get(page).await);
    }
    for answer in answers {
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
        );
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers["referrer-policy"], "no-referrer");
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
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
