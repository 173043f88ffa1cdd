//! People from elsewhere: a page instead of a problem, a key entered once, a cookie that only our own pages can use.

use crate::place::{Answer, Place, ask, peer};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::http::request::Builder;
use model::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use stepfast_server::{self as server, Site};
use store::{Clock, SimClock, SystemClock};
use tokio::time::timeout;

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
    assert!(set.starts_with("stepfast_session=sfb_") && set.ends_with("; Path=/; HttpOnly; SameSite=Strict"));
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
    assert_eq!(audit["audit"][0]["who"], format!("the operator (key {id}) from 203.0.113.9"));
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
    assert!(set.starts_with("__Host-stepfast_session=sfb_"));
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
async fn s3_signing_out_ends_it_here_and_for_whoever_copied_the_cookie() {
    let place = Place::open();
    let (key, _) = place.key("viewer").await;
    let cookie = cookie(&enter(&place, &key, "http://steps.example:7837").await);
    let request = from_elsewhere(Request::post("/sign-out"))
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", "http://steps.example:7837")
        .header("cookie", &cookie);
    // Another node, with a memory of its own.
    let other = server::router(place.site());
    for router in [&place.router, &other] {
        assert_eq!(looks(router, &cookie).await, 200);
    }
    let answer = ask(&place.router, request.body(Body::empty()).unwrap()).await;
    assert_eq!((answer.status.as_u16(), &answer.headers["location"]), (303, &"/sign-in".parse().unwrap()));
    let gone: Vec<_> = answer.headers.get_all("set-cookie").iter().map(|v| v.to_str().unwrap()).collect();
    assert_eq!(gone.len(), 2);
    assert!(gone.iter().all(|set| set.contains("Max-Age=0") && !set.contains("sfb_")), "{gone:?}");
    assert_eq!(looks(&place.router, &cookie).await, 401, "the copy is worth nothing");
    let ended = async {
        while looks(&other, &cookie).await != 401 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(1), ended).await.expect("nor is it elsewhere, within a second");
    place.close().await;
}

/// The status that a page has for a browser with this cookie.
async fn looks(router: &Router, cookie: &str) -> u16 {
    let request = from_elsewhere(Request::get("/step-dispatcher/api")).header("cookie", cookie);
    ask(router, request.body(Body::empty()).unwrap()).await.status.as_u16()
}

async fn enter_at(router: &Router, key: &str, cookie: Option<&str>) -> String {
    let request = from_elsewhere(Request::post("/sign-in"))
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", "http://steps.example:7837");
    let request = cookie.into_iter().fold(request, |request, cookie| request.header("cookie", cookie));
    let answer = ask(router, request.body(Body::from(format!("key={key}"))).unwrap()).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    self::cookie(&answer)
}

/// A use is written down behind the answer.
async fn until_used(place: &Place, at: Timestamp) {
    let last = "select max(used_at) from browser_sessions";
    let written = async {
        while place.engine.with_store(|store| store.reader().value::<i64>(last, &[]).unwrap()).await.unwrap()
            < at.0
        {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), written).await.expect("a use is written down");
}

#[tokio::test]
async fn s3_a_browser_that_is_silent_for_twelve_hours_signs_in_again() {
    let place = Place::open();
    let (key, _) = place.key("viewer").await;
    let clock = Arc::new(SimClock::at(SystemClock::default().now()));
    let router = server::router(Site { clock: clock.clone(), ..place.site() });
    let cookie = enter_at(&router, &key, None).await;
    let hours = |n: u64| Duration::from_secs(n * 3600);
    for _ in 0..3 {
        clock.advance(hours(11));
        assert_eq!(looks(&router, &cookie).await, 200, "a use counts");
        until_used(&place, clock.now()).await;
    }
    clock.advance(hours(12));
    let anew = server::router(Site { clock: clock.clone(), ..place.site() });
    assert_eq!((looks(&router, &cookie).await, looks(&anew, &cookie).await), (401, 401));
    place.close().await;
}

#[tokio::test]
async fn s3_after_seven_days_a_browser_signs_in_again_however_busy_it_is() {
    let place = Place::open();
    let (key, _) = place.key("viewer").await;
    let clock = Arc::new(SimClock::at(SystemClock::default().now()));
    let cookie = enter_at(&server::router(Site { clock: clock.clone(), ..place.site() }), &key, None).await;
    for hour in 1..=168 {
        clock.advance(Duration::from_secs(3600));
        if hour % 8 != 0 {
            continue;
        }
        // A node that has just started reads what is on record.
        let router = server::router(Site { clock: clock.clone(), ..place.site() });
        assert_eq!(looks(&router, &cookie).await, if hour < 168 { 200 } else { 401 }, "after {hour} h");
        if hour < 168 {
            until_used(&place, clock.now()).await;
        }
    }
    place.close().await;
}

#[tokio::test]
async fn s3_a_token_is_new_with_every_sign_in_and_only_its_hash_is_kept() {
    let place = Place::open();
    let (key, _) = place.key("viewer").await;
    let planted = format!("stepfast_session=sfb_{}", "0".repeat(64));
    assert_eq!(looks(&place.router, &planted).await, 401);
    let first = enter_at(&place.router, &key, Some(&planted)).await;
    assert_ne!(first, planted, "what was planted is not adopted");
    assert_eq!(looks(&place.router, &planted).await, 401);
    let second = enter_at(&place.router, &key, None).await;
    assert_ne!(first, second);
    assert_eq!((looks(&place.router, &first).await, looks(&place.router, &second).await), (200, 200));
    // Whoever signs in again in the same browser leaves nothing behind.
    let third = enter_at(&place.router, &key, Some(&second)).await;
    assert_eq!((looks(&place.router, &second).await, looks(&place.router, &third).await), (401, 200));
    let dump = crate::keys::dump(&place).await;
    for token in [&first, &third] {
        let token = token.split_once("sfb_").unwrap().1;
        assert!(!crate::keys::has(&dump, token), "the token is in the database");
    }
    // A token is no key, and a key is no token.
    let bearer = from_elsewhere(Request::get("/v1/groups"))
        .header("authorization", format!("Bearer {}", third.split_once('=').unwrap().1));
    ask(&place.router, bearer.body(Body::empty()).unwrap()).await.refused(401, "unauthorized");
    assert_eq!(looks(&place.router, &format!("stepfast_session={key}")).await, 401);
    place.close().await;
}

#[tokio::test]
async fn s3_revoking_a_key_ends_its_browsers_and_no_others() {
    let place = Place::open();
    let (key, id) = place.key("viewer").await;
    let (other, _) = place.key("operator").await;
    let cookies = [enter_at(&place.router, &key, None).await, enter_at(&place.router, &key, None).await];
    let stays = enter_at(&place.router, &other, None).await;
    place.post(&format!("/v1/keys/{id}/revoke"), "{}").await.ok();
    for cookie in &cookies {
        assert_eq!(looks(&place.router, cookie).await, 401);
    }
    assert_eq!(looks(&place.router, &stays).await, 200);
    let left = place.engine.with_store(|store| {
        store.reader().value::<i64>("select count(*) from browser_sessions", &[]).unwrap()
    });
    assert_eq!(left.await.unwrap(), 1);
    place.close().await;
}

#[tokio::test]
async fn s3_of_one_key_only_so_many_browsers_are_signed_in() {
    let place = Place::open();
    let (key, _) = place.key("viewer").await;
    let mut cookies = Vec::new();
    for _ in 0..22 {
        cookies.push(enter_at(&place.router, &key, None).await);
    }
    let mut signed_in = 0;
    for cookie in &cookies {
        signed_in += usize::from(looks(&place.router, cookie).await == 200);
    }
    assert_eq!(signed_in, 20);
    assert_eq!(looks(&place.router, &cookies[21]).await, 200, "the newest stays");
    place.close().await;
}

/// Where somebody lands is not for others to say.
#[tokio::test]
async fn s19_signing_in_leads_to_our_own_page_whatever_is_asked_for() {
    let place = Place::open();
    let (key, _) = place.key("viewer").await;
    for next in ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"] {
        let request = from_elsewhere(Request::post(format!("/sign-in?next={next}&return_to={next}")))
            .header("content-type", "application/x-www-form-urlencoded")
            .header("referer", "https://evil.example/")
            .header("origin", "http://steps.example:7837");
        let form = Body::from(format!("key={key}&next={next}&return_to={next}&redirect={next}"));
        let answer = ask(&place.router, request.body(form).unwrap()).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.headers["location"]),
            (303, &"/step-dispatcher".parse().unwrap())
        );
        let page = from_elsewhere(Request::get(format!("/sign-in?next={next}"))).body(Body::empty()).unwrap();
        assert!(!ask(&place.router, page).await.text().contains("evil"), "{next} is carried on");
    }
    place.close().await;
}
