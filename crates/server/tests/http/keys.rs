//! Keys from their making to their end: shown once, recognised, limited, signed with, revoked.

use crate::place::{Answer, Place, ask, peer};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::http::request::Builder;
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stepfast_server::{self as server, Site};
use store::{Clock, SimClock, SystemClock};
use tokio::time::timeout;

const ELSEWHERE: &str = "203.0.113.9:40000";

fn from_elsewhere(request: Builder) -> Builder {
    request
        .header("host", "steps.example")
        .header("content-type", "application/json")
        .extension(peer(ELSEWHERE))
}

async fn get(router: &Router, path: &str, key: &str) -> Answer {
    let request = from_elsewhere(Request::get(path)).header("authorization", format!("Bearer {key}"));
    ask(router, request.body(Body::empty()).unwrap()).await
}

async fn post(router: &Router, path: &str, key: &str, body: &str) -> Answer {
    let request = from_elsewhere(Request::post(path)).header("authorization", format!("Bearer {key}"));
    ask(router, request.body(Body::from(body.to_string())).unwrap()).await
}

#[tokio::test]
async fn without_a_key_this_machine_alone_is_answered() {
    let place = Place::open();
    assert_eq!(place.get("/v1/steps").await.status, 200);
    let here = |request: Builder| request.header("host", "localhost:7837");
    let strangers = [
        from_elsewhere(Request::get("/v1/steps")),
        here(Request::get("/v1/steps")).extension(peer(ELSEWHERE)),
        // A proxy on this machine speaks for others.
        here(Request::get("/v1/steps"))
            .header("x-forwarded-for", "203.0.113.9")
            .extension(peer("127.0.0.1:1")),
        here(Request::get("/v1/steps")).header("forwarded", "for=203.0.113.9").extension(peer("[::1]:1")),
        here(Request::get("/v1/steps")).header("x-forwarded-proto", "https").extension(peer("127.0.0.1:1")),
        // Nobody said where it comes from.
        here(Request::get("/v1/steps")),
    ];
    for request in strangers {
        let answer = ask(&place.router, request.body(Body::empty()).unwrap()).await;
        answer.refused(401, "unauthorized");
        assert_eq!(answer.headers["www-authenticate"], "Bearer realm=\"stepfast\"");
    }
    for own in ["127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        let request = here(Request::get("/v1/steps")).extension(peer(own));
        assert_eq!(ask(&place.router, request.body(Body::empty()).unwrap()).await.status, 200, "{own}");
    }
    place.close().await;
}

#[tokio::test]
async fn a_key_opens_what_its_role_may_under_any_name() {
    let place = Place::open();
    let (key, _) = place.key("viewer").await;
    assert_eq!(get(&place.router, "/v1/steps", &key).await.status, 200);
    let problem =
        post(&place.router, "/v1/breaker", &key, r#"{"off": true}"#).await.refused(403, "forbidden");
    assert!(problem["detail"].as_str().unwrap().contains("the right `operate`"), "{problem}");
    let request =
        from_elsewhere(Request::get("/v1/steps")).header("authorization", format!("bearer  {key} "));
    assert_eq!(ask(&place.router, request.body(Body::empty()).unwrap()).await.status, 200);
    place.close().await;
}

#[tokio::test]
async fn a_wrong_key_is_refused_also_on_this_machine_and_counted() {
    let place = Place::open();
    let (key, id) = place.key("admin").await;
    let other = place.key("admin").await.0;
    let (head, _) = key.rsplit_once('_').unwrap();
    let stolen = format!("{head}_{}", other.rsplit_once('_').unwrap().1);
    let wrong = ["", "x", &key[..key.len() - 1], &key.to_uppercase(), &stolen, &format!("sf_{id}_{id}")];
    for wrong in wrong {
        let told = get(&place.router, "/v1/steps", wrong).await.refused(401, "unauthorized");
        assert_eq!(told["detail"], "the key is not valid: it is unknown, revoked or expired");
        let here = Request::get("/v1/steps").header("host", "localhost");
        let here = here.header("authorization", format!("Bearer {wrong}")).body(Body::empty()).unwrap();
        place.send(here).await.refused(401, "unauthorized");
    }
    let basic = from_elsewhere(Request::get("/v1/steps")).header("authorization", format!("Basic {key}"));
    ask(&place.router, basic.body(Body::empty()).unwrap()).await.refused(401, "unauthorized");
    assert_eq!(place.get("/v1/keys").await.ok()["refused"], 2 * wrong.len() + 1);
    place.close().await;
}

#[tokio::test]
async fn where_a_key_is_required_this_machine_needs_one_too() {
    let place = Place::open();
    let (key, _) = place.key("admin").await;
    let strict = server::router(Site { require_key: true, ..place.site() });
    let here = || Request::get("/v1/steps").header("host", "localhost").extension(peer("127.0.0.1:1"));
    ask(&strict, here().body(Body::empty()).unwrap()).await.refused(401, "unauthorized");
    let with = here().header("authorization", format!("Bearer {key}")).body(Body::empty()).unwrap();
    assert_eq!(ask(&strict, with).await.status, 200);
    let probe = Request::get("/livez").header("host", "10.0.0.5").extension(peer("127.0.0.1:1"));
    assert_eq!(ask(&strict, probe.body(Body::empty()).unwrap()).await.status, 200);
    place.close().await;
}

/// Everything the database holds, as text and bytes.
pub async fn dump(place: &Place) -> Vec<u8> {
    if std::env::var_os("STEPFAST_TEST_POSTGRES").is_none() {
        let files = std::fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().path());
        return files.filter(|path| path.is_file()).flat_map(|path| std::fs::read(path).unwrap()).collect();
    }
    let read = |store: &mut dyn store::Store| {
        let sql = store.reader();
        let text = "select table_name::text from information_schema.tables where table_schema = 'stepfast'";
        let tables: Vec<String> = sql.rows(text, &[], |row| row.get(0)).unwrap();
        let whole = |table: &String| {
            let text = format!("select coalesce(string_agg(t::text, ' '), '') from {table} t");
            sql.value::<String>(&text, &[]).unwrap()
        };
        tables.iter().map(whole).collect::<Vec<_>>().join("\n").into_bytes()
    };
    place.engine.with_store(read).await.unwrap()
}

pub fn has(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[tokio::test]
async fn s5_a_key_is_shown_once_and_the_database_does_not_hold_it() {
    let place = Place::open();
    let body =
        r#"{"name": "deploy", "role": "admin", "scope": ["default"], "expires_days": 30, "by": "anna"}"#;
    let made = place.post("/v1/keys", body).await.ok();
    let key = made["key"].as_str().unwrap();
    assert!(key.starts_with("sf_") && key.len() == 100, "{key}");
    let steps = r#"{"steps": [{"action": "ghost", "queue": "default"}]}"#;
    assert_eq!(post(&place.router, "/v1/steps", key, steps).await.status, 201);
    let listed = place.get("/v1/keys").await;
    let row = &listed.json()["keys"][0];
    for (field, value) in [("name", "deploy"), ("role", "admin"), ("state", "live"), ("created_by", "anna")] {
        assert_eq!(row[field], value);
    }
    assert_eq!((&row["scope"][0], row["expires_at"].is_string()), (&Value::from("default"), true));
    let secret = key.rsplit_once('_').unwrap().1;
    let audit = place.get("/v1/audit").await;
    for shown in [listed.text(), audit.text()] {
        assert!(!shown.contains(secret));
    }
    let dump = dump(&place).await;
    assert!(has(&dump, "deploy"), "the dump is one");
    assert!(!has(&dump, secret), "the secret is in the database");
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s5_a_key_revoked_while_calls_run_is_refused_within_a_second_on_every_node() {
    let place = Place::open();
    let (key, id) = place.key("viewer").await;
    // Another node on the same database, with a memory of its own.
    let nodes = [place.router.clone(), server::router(place.site())];
    let revoked_at = Arc::new(OnceLock::<engine::Stopwatch>::new());
    let (good, started) = (Arc::new(AtomicUsize::new(0)), Arc::new(tokio::sync::Notify::new()));
    let callers: Vec<_> = nodes
        .into_iter()
        .map(|router| {
            let (key, revoked_at, good, started) =
                (key.clone(), revoked_at.clone(), good.clone(), started.clone());
            tokio::spawn(async move {
                loop {
                    let answer = get(&router, "/v1/groups", &key).await;
                    if answer.status == 401 {
                        return revoked_at.get().map_or(Duration::ZERO, engine::Stopwatch::elapsed);
                    }
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    good.fetch_add(1, Ordering::SeqCst);
                    started.notify_one();
                }
            })
        })
        .collect();
    while good.load(Ordering::SeqCst) < 20 {
        started.notified().await;
    }
    let revoked = place.post(&format!("/v1/keys/{id}/revoke"), "{}").await.ok();
    revoked_at.set(engine::Stopwatch::start()).unwrap();
    assert_eq!(revoked["state"], "revoked");
    for caller in callers {
        let lasted = timeout(Duration::from_secs(20), caller).await.expect("it is refused").unwrap();
        println!("it went on for {lasted:?}");
        assert!(lasted < Duration::from_secs(1), "{lasted:?}");
    }
    get(&place.router, "/v1/groups", &key).await.refused(401, "unauthorized");
    let again = place.post(&format!("/v1/keys/{id}/revoke"), "{}").await.ok();
    assert_eq!(again["revoked_at"], revoked["revoked_at"], "the first time counts");
    place.close().await;
}

#[tokio::test]
async fn a_key_ends_by_itself_to_the_second() {
    let place = Place::open();
    let made = place.post("/v1/keys", r#"{"name": "x", "role": "viewer", "expires_days": 1}"#).await.ok();
    let key = made["key"].as_str().unwrap();
    let clock = Arc::new(SimClock::at(SystemClock::default().now()));
    let router = server::router(Site { clock: clock.clone(), ..place.site() });
    assert_eq!(get(&router, "/v1/groups", key).await.status, 200);
    clock.advance(Duration::from_secs(86_395));
    assert_eq!(get(&router, "/v1/groups", key).await.status, 200);
    clock.advance(Duration::from_secs(5));
    get(&router, "/v1/groups", key).await.refused(401, "unauthorized");
    place.close().await;
}

#[tokio::test]
async fn who_acts_is_the_key_whatever_the_body_says() {
    let place = Place::open();
    let (key, id) = place.key("admin").await;
    let who = format!("the admin (key {id}) from 203.0.113.9");
    let made =
        post(&place.router, "/v1/steps", &key, r#"{"steps": [{"action": "ghost"}, {"action": "ghost"}]}"#)
            .await
            .ok();
    let step = made["steps"][0]["id"].as_str().unwrap();
    post(&place.router, &format!("/v1/steps/{step}/cancel"), &key, r#"{"by": "the boss", "why": "x"}"#)
        .await
        .ok();
    post(&place.router, "/v1/breaker", &key, r#"{"off": true, "why": "deploy", "by": "the boss"}"#)
        .await
        .ok();
    post(&place.router, "/step-dispatcher/toggle", &key, r#"{"enabled": true}"#).await.ok();
    let other = post(&place.router, "/v1/keys", &key, r#"{"name": "y", "role": "viewer", "by": "the boss"}"#)
        .await
        .ok();
    let other = other["id"].as_str().unwrap();
    post(&place.router, &format!("/v1/keys/{other}/revoke"), &key, r#"{"by": "the boss"}"#).await.ok();
    let purge = r#"{"purge": {"before": 4000000000000000, "only_archive": false, "ticks": true, "why": "old", "by": "the boss"}}"#;
    post(&place.router, "/v1/retention", &key, purge).await.ok();
    let audit = place.get("/v1/audit").await.ok();
    let mut rows: Vec<_> = audit["audit"].as_array().unwrap().iter().rev().collect();
    assert_eq!(rows.remove(0)["who"], "loopback", "that is how the first key was made");
    let told: Vec<_> = rows.iter().map(|row| row["verb"].as_str().unwrap()).collect();
    assert_eq!(told, ["create", "cancel", "breaker off", "breaker on", "create key", "revoke key", "purge"]);
    for row in &rows {
        assert_eq!(row["who"], who.as_str(), "{row}");
    }
    assert_eq!(rows[0]["target"], format!("2 steps from step {step}"));
    assert_eq!(rows[4]["after"], "viewer, all queues, does not expire");
    place.close().await;
}

#[tokio::test]
async fn a_scope_limits_what_is_created() {
    let place = Place::open();
    let body = r#"{"name": "x", "role": "operator", "scope": ["priority", "elsewhere"]}"#;
    let key = place.post("/v1/keys", body).await.ok()["key"].as_str().unwrap().to_string();
    let refused = async |steps: &str| {
        let answer = post(&place.router, "/v1/steps", &key, &format!("{{\"steps\": {steps}}}")).await;
        answer.refused(403, "forbidden")["faults"][0]["field"].as_str().unwrap().to_string()
    };
    assert_eq!(refused(r#"[{"action": "ghost"}]"#).await, "steps[0].queue");
    assert_eq!(refused(r#"[{"action": "ghost", "queue": "default"}]"#).await, "steps[0].queue");
    // A queue that is not known would fall back to another one.
    assert_eq!(refused(r#"[{"action": "ghost", "queue": "elsewhere"}]"#).await, "steps[0].queue");
    let tree = r#"[{"action": "ghost", "queue": "priority", "children": [{"action": "ghost"}]}]"#;
    assert_eq!(refused(tree).await, "steps[0].children[0].queue");
    assert_eq!(place.get("/v1/steps").await.ok()["steps"].as_array().unwrap().len(), 0);
    let good = r#"{"steps": [{"action": "ghost", "queue": "priority"}]}"#;
    assert_eq!(post(&place.router, "/v1/steps", &key, good).await.status, 201);
    place.close().await;
}

#[tokio::test]
async fn the_use_of_a_key_is_written_down_once_a_minute() {
    let place = Place::open();
    let (key, _) = place.key("viewer").await;
    let clock = Arc::new(SimClock::at(SystemClock::default().now()));
    let router = server::router(Site { clock: clock.clone(), ..place.site() });
    assert_eq!(place.get("/v1/keys").await.ok()["keys"][0]["last_used_at"], Value::Null);
    get(&router, "/v1/groups", &key).await.ok();
    let used = |page: &Value| page["keys"][0]["last_used_at"].as_str().map(String::from);
    let first = used(&place.until("/v1/keys", |page| used(page).is_some()).await);
    clock.advance(Duration::from_secs(59));
    get(&router, "/v1/groups", &key).await.ok();
    // What is written behind an answer is in the engine's inbox before anything asked later.
    tokio::task::yield_now().await;
    place.engine.with_store(|_| ()).await.unwrap();
    assert_eq!(used(&place.get("/v1/keys").await.ok()), first);
    clock.advance(Duration::from_secs(1));
    get(&router, "/v1/groups", &key).await.ok();
    place.until("/v1/keys", |page| used(page) > first).await;
    place.close().await;
}

#[tokio::test]
async fn what_makes_no_key_is_refused_with_everything_that_is_wrong() {
    let place = Place::open();
    let body = r#"{"name": " ", "role": "root", "scope": [""], "expires_days": 0}"#;
    let problem = place.post("/v1/keys", body).await.refused(422, "invalid_request");
    let fields: Vec<_> =
        problem["faults"].as_array().unwrap().iter().map(|f| f["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["name", "role", "scope[0]", "expires_days"]);
    place
        .post("/v1/keys", "{\"name\": \"a\\u0000b\", \"role\": \"admin\"}")
        .await
        .refused(422, "invalid_request");
    assert_eq!(place.get("/v1/keys").await.ok()["keys"], Value::Array(vec![]));
    let nothing = "/v1/keys/00000000-0000-0000-0000-000000000001/revoke";
    place.post(nothing, "{}").await.refused(404, "not_found");
    let (key, _) = place.key("viewer").await;
    let strange = place.post(&format!("/v1/keys/{key}/revoke"), "{}").await;
    strange.refused(400, "invalid_request");
    assert!(!strange.text().contains(&key), "a key is not repeated");
    place.close().await;
}

#[tokio::test]
async fn beyond_loopback_it_starts_only_with_a_live_admin_key() {
    let place = Place::open();
    let everywhere = "0.0.0.0:7837".parse().unwrap();
    let told = server::may_bind(&place.site(), everywhere).await.unwrap_err().to_string();
    assert!(told.contains("keys create --name NAME --role admin"), "{told}");
    place.key("operator").await;
    assert!(server::may_bind(&place.site(), everywhere).await.is_err());
    let made = place.post("/v1/keys", r#"{"name": "x", "role": "admin", "expires_days": 1}"#).await.ok();
    assert!(server::may_bind(&place.site(), everywhere).await.is_ok());
    let tomorrow = SimClock::at(SystemClock::default().now() + Duration::from_secs(86_401));
    let later = Site { clock: Arc::new(tomorrow), ..place.site() };
    assert!(server::may_bind(&later, everywhere).await.is_err(), "it has expired by then");
    place.post(&format!("/v1/keys/{}/revoke", made["id"].as_str().unwrap()), "{}").await.ok();
    assert!(server::may_bind(&place.site(), everywhere).await.is_err());
    for own in ["127.0.0.1:7837", "[::1]:7837"] {
        assert!(server::may_bind(&place.site(), own.parse().unwrap()).await.is_ok());
    }
    place.close().await;
}

/// Rights count when work is accepted. Whoever wants to stop what a lost key has begun finds it by the audit, and cancels it.
#[tokio::test]
async fn s12_what_a_key_has_begun_goes_on_when_the_key_is_revoked() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let yaml = "workflow: later\nversion: 1.0.0\nsteps:\n  - { key: a, action: echo, pause_after: { trigger: go } }\n  - { key: b, action: noop }\n";
    place.define(yaml).await.ok();
    let (key, id) = place.key("operator").await;
    let begun = post(&place.router, "/v1/workflows", &key, r#"{"workflow": "later"}"#).await.ok();
    let workflow = begun["id"].as_str().unwrap();
    place.until_workflow(workflow, "paused").await;
    place.post(&format!("/v1/keys/{id}/revoke"), "{}").await.ok();
    for (path, body) in
        [("/v1/workflows".to_string(), r#"{"workflow": "later"}"#), (format!("/trigger/{workflow}/go"), "{}")]
    {
        post(&place.router, &path, &key, body).await.refused(401, "unauthorized");
    }
    let audit = place.get("/v1/audit").await.ok();
    let who = format!("the operator (key {id}) from 203.0.113.9");
    let found = audit["audit"].as_array().unwrap().iter().find(|row| row["who"] == who.as_str());
    let target = found.expect("what it began is on record")["target"].as_str().unwrap();
    assert!(target.contains(workflow), "{target}");
    place.post(&format!("/v1/workflows/{workflow}/triggers/go"), "{}").await.ok();
    place.until_workflow(workflow, "succeeded").await;
    place.close().await;
}
