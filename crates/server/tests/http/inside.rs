//! What is wrong inside: told to whoever may set it right, and the server goes on.

use crate::access::filled;
use crate::place::{Answer, Place, ask, peer};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use model::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use stepfast_server::{self as server, Access, Site, Takes};
use store::{Clock, Database, SystemClock};

async fn get(router: &Router, path: &str, key: Option<&str>) -> Answer {
    let request = Request::get(path).header("host", "steps.example").extension(peer("203.0.113.9:40000"));
    let request = key.into_iter().fold(request, |r, key| r.header("authorization", format!("Bearer {key}")));
    ask(router, request.body(Body::empty()).unwrap()).await
}

/// Nothing of what the inside is made of.
fn assert_tame(answer: &Answer) {
    let text = answer.text().to_lowercase();
    for part in [
        "sqlite",
        "postgres",
        "select",
        "no such",
        "relation",
        "steps.db",
        "/tmp",
        ".rs",
        "127.0.0.1",
        "audit",
    ] {
        assert!(!text.contains(part), "`{part}` is told: {text}");
    }
}

/// Beside the engine, as nobody should.
async fn run(place: &Place, statement: &'static str) {
    if std::env::var_os("STEPFAST_TEST_POSTGRES").is_none() {
        rusqlite::Connection::open(place.file()).unwrap().execute_batch(statement).unwrap();
        return;
    }
    place.engine.with_store(move |store| store.reader().execute(statement, &[]).unwrap()).await.unwrap();
}

#[tokio::test]
async fn s35_what_the_database_says_is_told_to_whoever_may_operate() {
    let place = Place::open();
    let roles = [("viewer", false), ("operator", true), ("admin", true)];
    let mut keys = Vec::new();
    for (role, told) in roles {
        keys.push((place.key(role).await.0, told));
    }
    run(&place, "alter table audit rename to elsewhere").await;
    for (key, told) in &keys {
        let answer = get(&place.router, "/v1/audit", Some(key)).await;
        let problem = answer.refused(503, "unavailable");
        assert_eq!(answer.headers["retry-after"], "1");
        match told {
            true => assert!(problem["detail"].as_str().unwrap().contains("audit"), "{problem}"),
            false => assert_tame(&answer),
        }
    }
    run(&place, "alter table elsewhere rename to audit").await;
    for (key, _) in &keys {
        assert_eq!(get(&place.router, "/v1/audit", Some(key)).await.status, 200);
    }
    place.close().await;
}

#[tokio::test]
async fn s35_a_row_that_is_not_understood_is_told_by_its_place_to_whoever_may_operate() {
    let place = Place::open();
    place.define("workflow: a\nversion: 1.0.0\nsteps:\n  - { key: a, action: noop }\n").await.ok();
    let (viewer, _) = place.key("viewer").await;
    run(&place, "update definitions set text = 'nonsense'").await;
    let told = place.get("/v1/definitions/a/1.0.0").await.refused(500, "corrupt");
    assert!(told["detail"].as_str().unwrap().contains("definitions"), "{told}");
    let answer = get(&place.router, "/v1/definitions/a/1.0.0", Some(&viewer)).await;
    assert!(!answer.refused(500, "corrupt")["detail"].as_str().unwrap().contains("definitions"));
    place.close().await;
}

/// Without its database a server knows no key: whoever asks is a stranger.
#[tokio::test]
async fn s35_a_stranger_is_told_nothing_but_that_it_cannot_be_answered() {
    let place = Place::open();
    let (admin, _) = place.key("admin").await;
    let gone = Database::Sqlite(place.dir.path().join("gone").join("steps.db"));
    let router = server::router(Site { database: gone, ..place.site() });
    let id = "00000000-0000-0000-0000-000000000001";
    for path in ["/readyz".to_string(), format!("/approve/{id}/boss?token=pt_x"), "/v1/steps".to_string()] {
        for key in [None, Some("sf_wrong"), Some(admin.as_str())] {
            let answer = get(&router, &path, key).await;
            assert!(matches!(answer.status.as_u16(), 401 | 503), "{path} {}", answer.status);
            assert_tame(&answer);
        }
    }
    let trigger = Request::post(format!("/trigger/{id}/boss"))
        .header("host", "steps.example")
        .header("content-type", "application/json")
        .header("authorization", "Bearer pt_x")
        .extension(peer("203.0.113.9:40000"));
    let answer = ask(&router, trigger.body(Body::from("{}")).unwrap()).await;
    answer.refused(503, "unavailable");
    assert_tame(&answer);
    let here = Request::get("/readyz").header("host", "localhost").extension(peer("127.0.0.1:1"));
    let told = ask(&router, here.body(Body::empty()).unwrap()).await.refused(503, "not_ready");
    assert!(told["detail"].as_str().unwrap().contains("there is no database at"), "{told}");
    place.close().await;
}

/// A clock that falls over when it has been read so many times more.
struct Falls(AtomicIsize);

impl Clock for Falls {
    fn now(&self) -> Timestamp {
        assert_ne!(self.0.fetch_sub(1, Ordering::SeqCst), 0, "the clock fell over");
        SystemClock::default().now()
    }
}

#[tokio::test]
async fn s49_wherever_a_request_falls_over_it_is_answered_and_the_server_goes_on() {
    let place = Place::open();
    let (admin, _) = place.key("admin").await;
    let clock = Arc::new(Falls(AtomicIsize::new(-1)));
    let router = server::router(Site { clock: clock.clone(), ..place.site() });
    let mut fell = [0; 3];
    for (reads, fell) in fell.iter_mut().enumerate() {
        for route in server::routes() {
            let kind = match route.body {
                Takes::Json => "application/json",
                Takes::Text => "application/yaml",
                Takes::Form => "application/x-www-form-urlencoded",
            };
            let request = Request::builder()
                .method(&route.method)
                .uri(filled(route.path))
                .header("host", "steps.example")
                .header("content-type", kind)
                .header("authorization", format!("Bearer {admin}"))
                .extension(peer("203.0.113.9:40000"));
            clock.0.store(reads as isize, Ordering::SeqCst);
            let answer = ask(&router, request.body(Body::from("{}")).unwrap()).await;
            let is_fallen = clock.0.swap(-1, Ordering::SeqCst) < 0;
            if is_fallen {
                // Whoever is not known yet learns less.
                let told = (answer.status.as_u16(), answer.json()["code"].as_str().map(String::from));
                let code = told.1.as_deref().unwrap_or_default();
                assert!(
                    matches!((told.0, code), (500, "internal") | (503, "unavailable")),
                    "{} {told:?}",
                    route.path
                );
                *fell += 1;
            }
            assert!(!answer.text().contains("fell over"), "{}", answer.text());
        }
    }
    println!("{fell:?} requests fell over at the first, second and third look at the clock");
    let guarded = server::routes().iter().filter(|route| matches!(route.access, Access::Needs(_))).count();
    assert!(fell[0] >= guarded && fell[1] > 20, "{fell:?} of {guarded}");
    assert_eq!(get(&router, "/v1/steps", Some(&admin)).await.status, 200);
    assert_eq!(get(&router, "/readyz", Some(&admin)).await.status, 200);
    place.create(r#"[{"action": "noop"}]"#).await;
    place.close().await;
}
