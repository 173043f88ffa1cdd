//! Pages of other origins: none changes anything, and none has anything answered, on any route.

use crate::access::filled;
use crate::place::{Answer, Place, ask, peer};
use crate::reading::{rows, same, still};
use axum::body::Body;
use axum::http::{Method, Request};
use stepfast_server::{self as server, Access, Route, Takes};

const OURS: &str = "http://steps.example:7837";
const EVIL: &str = "http://evil.example";

async fn cookie(place: &Place, role: &str) -> String {
    let (key, _) = place.key(role).await;
    let request = Request::post("/sign-in")
        .header("host", "steps.example:7837")
        .header("content-type", "application/x-www-form-urlencoded")
        .extension(peer("203.0.113.9:40000"));
    let answer = ask(&place.router, request.body(Body::from(format!("key={key}"))).unwrap()).await;
    answer.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_string()
}

/// Who calls, as far as a page can bring it about.
enum From<'a> {
    Browser(&'a str),
    Here,
}

async fn call(place: &Place, route: &Route, from: From<'_>, origin: Option<&str>, kind: &str) -> Answer {
    let request =
        Request::builder().method(&route.method).uri(filled(route.path)).header("content-type", kind);
    let request = match from {
        From::Browser(cookie) => {
            let request = request.header("host", "steps.example:7837").header("cookie", cookie);
            request.extension(peer("203.0.113.9:40000"))
        }
        From::Here => request.header("host", "localhost:7837").extension(peer("127.0.0.1:40000")),
    };
    let request = origin.into_iter().fold(request, |request, origin| request.header("origin", origin));
    ask(&place.router, request.body(Body::from("{}")).unwrap()).await
}

fn usual(route: &Route) -> &'static str {
    match route.body {
        Takes::Json => "application/json",
        Takes::Text => "application/yaml",
        Takes::Form => "application/x-www-form-urlencoded",
    }
}

/// What changes something is refused with whatever a browser sends along by itself, on every route.
#[tokio::test]
async fn s7_no_other_page_changes_anything_by_any_route() {
    let place = Place::open();
    still(&place).await;
    let cookie = cookie(&place, "admin").await;
    let mut before = rows(&place).await;
    // That a key was used, and by which browser, is noted whatever it was used for.
    before.retain(|table, _| !["api_keys", "browser_sessions"].contains(&table.as_str()));
    let mut refused = 0;
    for route in server::routes().iter().filter(|route| route.method != Method::GET) {
        let kind = usual(route);
        for origin in [Some(EVIL), Some("null"), Some("http://steps.example:7838"), None] {
            if origin.is_none() && !matches!(route.access, Access::Needs(_)) {
                // No cookie counts there.
                continue;
            }
            call(&place, route, From::Browser(&cookie), origin, kind).await.refused(403, "forbidden");
            refused += 1;
        }
        if route.access != Access::Token {
            call(&place, route, From::Here, Some(EVIL), kind).await.refused(403, "forbidden");
        }
        // What a form can send, even from a page of ours, is not taken for anything else.
        for form in ["text/plain", "multipart/form-data; boundary=x"] {
            let answer = call(&place, route, From::Browser(&cookie), Some(OURS), form).await;
            answer.refused(415, "unsupported_media_type");
            refused += 1;
        }
    }
    println!("{refused} calls refused");
    same(&before, &rows(&place).await);
    place.close().await;
}

/// Nothing says to a browser that another origin may read; what asks with a cookie or from this machine is not even answered.
#[tokio::test]
async fn s18_another_origin_is_answered_nowhere_and_hears_no_stream() {
    let place = Place::open();
    let cookie = cookie(&place, "admin").await;
    let (key, _) = place.key("admin").await;
    for route in server::routes().iter().filter(|route| route.method == Method::GET) {
        let by_browser = call(&place, route, From::Browser(&cookie), Some(EVIL), "").await;
        let here = call(&place, route, From::Here, Some(EVIL), "").await;
        if matches!(route.access, Access::Needs(_)) {
            by_browser.refused(403, "forbidden");
            here.refused(403, "forbidden");
            let ours = call(&place, route, From::Browser(&cookie), Some(OURS), "").await;
            assert_ne!(ours.status, 403, "{}: {}", route.path, ours.text());
        }
        // A program with a key comes from nowhere; that it may read is told to no browser.
        let request = Request::get(filled(route.path))
            .header("host", "steps.example:7837")
            .header("origin", EVIL)
            .header("authorization", format!("Bearer {key}"))
            .extension(peer("203.0.113.9:40000"));
        assert_ne!(ask(&place.router, request.body(Body::empty()).unwrap()).await.status, 403);
        let preflight = Request::options(filled(route.path))
            .header("host", "localhost:7837")
            .header("origin", EVIL)
            .header("access-control-request-method", "POST")
            .extension(peer("127.0.0.1:40000"));
        // That no answer lets another origin in is held where it is asked.
        let answer = ask(&place.router, preflight.body(Body::empty()).unwrap()).await;
        assert!(answer.status.is_client_error(), "{} {}", route.path, answer.status);
    }
    place.close().await;
}
