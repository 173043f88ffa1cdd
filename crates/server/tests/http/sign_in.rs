//! People from elsewhere: a page instead of a problem, a key entered once, a cookie that only our own pages can use.

use crate::place::{Answer, Place, ask, peer};
use axum::body::Body;
use axum::http::Request;
use axum::http::request::Builder;

fn from_elsewhere(request: Builder) -> Builder {
    request.header("host", "steps.example:7837").extension(peer("203.0.113.9:40000"))
}

async fn enter(place: &Place, key: &str, origin: &str) -> Answer {
    let request = from_elsewhere(Request::post("/sign-in"))
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", origin);
    ask(&place.router, request.body(Body::from(format!("key={key}"))).unwrap()).await
}

fn cookie(answer: &Answer) -> String {
    let set = answer.headers["set-cookie"].to_str().unwrap();
    set.split(';').next().unwrap().to_string()
}

async fn toggle(place: &Place, cookie: &str, origin: Option<&str>) -> Answer {
    let mut request = from_elsewhere(Request::post("/step-dispatcher/toggle"))
        .header("content-type", "application/json")
        .header("cookie", cookie);
    if let Some(origin) = origin {
        request = request.header("origin", origin);
    }
    ask(&place.router, request.body(Body::from(r#"{"enabled": false}"#)).unwrap()).await
}

#[tokio::test]
async fn a_person_without_a_key_is_shown_the_way_in() {
    let place = Place::open();
    for path in ["/", "/step-dispatcher", "/step-dispatcher/steps", "/v1/ticks", "/nothing"] {
        let request = from_elsewhere(Request::get(path)).header("accept", "text/html,*/*;q=0.8");
        let answer = ask(&place.router, request.body(Body::empty()).unwrap()).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.headers["content-type"]),
            (401, &"text/html; charset=utf-8".parse().unwrap())
        );
        assert_eq!(answer.headers["www-authenticate"], "Bearer realm=\"stepfast\"");
        let page = answer.text();
        assert!(
            page.contains("<form") && page.contains("action=\"/sign-in\"") && !page.contains("<script"),
            "{page}"
        );
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("form-action 'self'") && !policy.contains("script-src"), "{policy}");
        assert_eq!(answer.headers["x-frame-options"], "DENY");
    }
    let json = from_elsewhere(Request::get("/step-dispatcher/api")).header("accept", "application/json");
    ask(&place.router, json.body(Body::empty()).unwrap()).await.refused(401, "unauthorized");
    place.close().await;
}

#[tokio::test]
async fn a_key_entered_once_opens_the_pages_until_it_is_revoked() {
    let place = Place::open();
    let (key, id) = place.key("operator").await;
    let answer = enter(&place, &key, "http://steps.example:7837").await;
    assert_eq!(
        (answer.status.as_u16(), &answer.headers["location"]),
        (303, &"/step-dispatcher".parse().unwrap())
    );
    let set = answer.headers["set-cookie"].to_str().unwrap();
    assert!(set.starts_with("stepfast_key=sf_") && set.ends_with("; Path=/; HttpOnly; SameSite=Strict"));
    let cookie = cookie(&answer);
    let page = async |path: &str| {
        let request =
            from_elsewhere(Request::get(path)).header("accept", "text/html").header("cookie", &cookie);
        ask(&place.router, request.body(Body::empty()).unwrap()).await
    };
    assert_eq!(page("/step-dispatcher").await.status, 200);
    assert!(page("/sign-in").await.text().contains("which has the role operator"));
    let request = from_elsewhere(Request::get("/v1/keys")).header("cookie", &cookie);
    ask(&place.router, request.body(Body::empty()).unwrap()).await.refused(403, "forbidden");
    toggle(&place, &cookie, Some("http://steps.example:7837")).await.ok();
    let audit = place.get("/v1/audit?limit=1").await.ok();
    assert_eq!(audit["audit"][0]["who"], format!("the operator (key {id})"));
    place.post(&format!("/v1/keys/{id}/revoke"), "{}").await.ok();
    assert_eq!(page("/step-dispatcher").await.status, 401);
    assert_eq!(page("/sign-in").await.status, 200, "an old cookie does not lock the door");
    place.close().await;
}

#[tokio::test]
async fn a_cookie_changes_nothing_for_other_pages() {
    let place = Place::open();
    let (key, _) = place.key("operator").await;
    let cookie = cookie(&enter(&place, &key, "http://steps.example:7837").await);
    let others = [
        None,
        Some("null"),
        Some("http://evil.example"),
        Some("http://steps.example"),
        Some("http://steps.example:7838"),
    ];
    for origin in others {
        toggle(&place, &cookie, origin).await.refused(403, "forbidden");
    }
    let form = from_elsewhere(Request::post("/step-dispatcher/toggle"))
        .header("content-type", "text/plain")
        .header("cookie", &cookie)
        .header("origin", "http://steps.example:7837");
    ask(&place.router, form.body(Body::from(r#"{"enabled": false}"#)).unwrap())
        .await
        .refused(415, "unsupported_media_type");
    assert_eq!(place.get("/v1/breaker").await.ok()["can_dispatch_steps"], true);
    enter(&place, &key, "http://evil.example").await.refused(403, "forbidden");
    place.close().await;
}

#[tokio::test]
async fn under_tls_the_cookie_is_for_this_host_alone() {
    let place = Place::open();
    let (key, _) = place.key("viewer").await;
    let answer = enter(&place, &key, "https://steps.example:7837").await;
    let set = answer.headers["set-cookie"].to_str().unwrap();
    assert!(set.starts_with("__Host-stepfast_key=sf_"));
    assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"));
    let request = from_elsewhere(Request::get("/step-dispatcher")).header("cookie", cookie(&answer));
    assert_eq!(ask(&place.router, request.body(Body::empty()).unwrap()).await.status, 200);
    place.close().await;
}

#[tokio::test]
async fn who_may_not_look_is_not_let_in() {
    let place = Place::open();
    let (worker, _) = place.key("worker").await;
    let answer = enter(&place, &worker, "http://steps.example:7837").await;
    assert_eq!(answer.status, 403);
    assert!(answer.text().contains("the right `view`") && !answer.headers.contains_key("set-cookie"));
    for wrong in ["", "x", "sf_1_2", "%00", "<script>alert(1)</script>"] {
        let answer = enter(&place, wrong, "http://steps.example:7837").await;
        assert_eq!(answer.status, 401, "{}", answer.text());
        assert!(!answer.headers.contains_key("set-cookie") && !answer.text().contains("alert(1)"));
    }
    let empty =
        from_elsewhere(Request::post("/sign-in")).header("content-type", "application/x-www-form-urlencoded");
    let answer = ask(&place.router, empty.body(Body::from("k=v")).unwrap()).await;
    assert_eq!(answer.status, 422);
    place.close().await;
}

#[tokio::test]
async fn signing_out_forgets_the_key() {
    let place = Place::open();
    let (key, _) = place.key("viewer").await;
    let cookie = cookie(&enter(&place, &key, "http://steps.example:7837").await);
    let request = from_elsewhere(Request::post("/sign-out"))
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", "http://steps.example:7837")
        .header("cookie", cookie);
    let answer = ask(&place.router, request.body(Body::empty()).unwrap()).await;
    assert_eq!((answer.status.as_u16(), &answer.headers["location"]), (303, &"/sign-in".parse().unwrap()));
    let gone: Vec<_> = answer.headers.get_all("set-cookie").iter().map(|v| v.to_str().unwrap()).collect();
    assert_eq!(gone.len(), 2);
    assert!(gone.iter().all(|set| set.contains("Max-Age=0") && !set.contains("sf_")), "{gone:?}");
    place.close().await;
}
