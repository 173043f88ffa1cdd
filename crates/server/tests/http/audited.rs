//! Every call that changes something leaves a row (S13): who, from where, and what was before it or is behind it.

use crate::place::{Answer, Place, ask, peer};
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stepfast_server::{self as server, Route, Routing, Site, Takes};

/// Calls that have no row, and why. Whatever is not here is called below, and has one.
const UNTOLD: [(&str, &str); 14] = [
    ("POST /api/dispatch/process", "a queue sends somebody for a step, whose attempts are on record"),
    ("POST /v1/worker/claim", "worker protocol: a claim is a row with its session and its host"),
    ("POST /v1/worker/heartbeat", "worker protocol: it changes nothing but a lease"),
    ("POST /v1/worker/report", "worker protocol: what came of a step is its history"),
    ("POST /v1/worker/leave", "worker protocol: the session says when it ended"),
    ("POST /v1/worker/previous", "worker protocol: it only reads"),
    ("POST /v1/executions/begin", "code of users, with a history of its own"),
    ("POST /v1/executions/complete", "code of users, with a history of its own"),
    ("POST /v1/executions/fail", "code of users, with a history of its own"),
    ("POST /v1/executions/renew", "code of users: it changes nothing but a lease"),
    ("POST /v1/flows", "tracking: what a flow's own code says is its history, with who said it"),
    ("POST /v1/flows/{id}/steps/{step}/{verb}", "tracking: the same"),
    ("POST /v1/flows/{id}/state", "tracking: the same"),
    ("POST /v1/flows/{id}/finish", "tracking: the same"),
];

const ASKS: &str = "
workflow: asks
version: 1.0.0
steps:
  - { key: ask, action: echo, pause_after: { trigger: boss, auth: token } }
  - { key: end, action: noop }
";
const FAILS: &str =
    "workflow: fails\nversion: 1.0.0\nsteps:\n  - { key: a, action: fail, retry: { attempts: 1 } }\n";
const WAITS: &str = "workflow: waits\nversion: 1.0.0\nsteps:\n  - { key: a, action: ghost }\n";
/// It is looked up by nobody's name server.
const NOWHERE: &str = "https://example.invalid/hook";

/// A router with one pool and one target.
#[derive(Default)]
struct Routed(AtomicBool);

impl Routing for Routed {
    fn status(&self) -> Value {
        let state = if self.0.load(Ordering::Relaxed) { "active" } else { "suspended" };
        json!({"pools": [{"code": "mail", "status": state, "concurrency": 3}],
               "breakers": [{"target": "http://10.0.0.7", "state": state}]})
    }
    fn reset_breakers(&self, _: Option<&str>) -> bool {
        true
    }
    fn set_active(&self, _: &str, active: bool) -> bool {
        self.0.store(active, Ordering::Relaxed);
        true
    }
    fn set_pools(&self, _: Value) -> Result<(), String> {
        Ok(())
    }
}

/// A call that succeeds.
struct Call {
    path: String,
    body: String,
    /// A token in place of the key.
    bearer: Option<String>,
    cookie: Option<String>,
}

fn call(path: impl Into<String>, body: Value) -> Option<Call> {
    Some(Call { path: path.into(), body: body.to_string(), bearer: None, cookie: None })
}

fn entered(path: impl Into<String>, body: impl Into<String>) -> Option<Call> {
    Some(Call { path: path.into(), body: body.into(), bearer: None, cookie: None })
}

struct Scene {
    place: Place,
    router: Router,
    key: String,
    who: String,
}

impl Scene {
    async fn open() -> Scene {
        let mut place = Place::open();
        place.work(|_| {}).await;
        for yaml in [ASKS, FAILS, WAITS] {
            place.define(yaml).await.ok();
        }
        let (key, id) = place.key("admin").await;
        let routing: Option<Arc<dyn Routing>> = Some(Arc::new(Routed::default()));
        let router = server::router(Site { routing, ..place.site() });
        let who = format!("the admin (key {id}) from 203.0.113.9");
        Scene { place, router, key, who }
    }

    async fn made(&self, path: &str, body: Value) -> Value {
        self.place.post(path, body.to_string()).await.ok()
    }

    /// A step that nobody runs.
    async fn step(&self) -> String {
        self.place.create(r#"[{"action": "ghost", "message_group": "g"}]"#).await.remove(0)
    }

    /// A workflow in this state.
    async fn workflow(&self, of: &str, state: &str) -> String {
        let id = self.place.start(of, json!({})).await;
        self.place.until_workflow(&id, state).await;
        id
    }

    /// A workflow that waits, and the token of its pause.
    async fn awaited(&self) -> (String, String) {
        let id = self.workflow("asks", "paused").await;
        let made = self.made(&format!("/v1/workflows/{id}/triggers/boss/token"), json!({})).await;
        (id, made["token"].as_str().unwrap().into())
    }

    async fn subscription(&self) -> String {
        let body = json!({"name": "x", "url": NOWHERE, "types": ["workflow.cancelled"]});
        self.made("/v1/subscriptions", body).await["id"].as_str().unwrap().into()
    }

    async fn channel(&self) {
        self.made("/v1/channels", json!({"name": "ops", "kind": "webhook", "url": NOWHERE})).await;
    }

    async fn rule(&self) {
        let request = Request::put("/v1/stuck/rules/step-waiting")
            .header("host", "localhost")
            .header("content-type", "application/json");
        let rule = Body::from(r#"{"older_than": "0s"}"#);
        self.place.send(request.body(rule).unwrap()).await.ok();
    }

    async fn send(&self, route: &Route, called: Call) -> Answer {
        let kind = match route.body {
            Takes::Json => "application/json",
            Takes::Text => "application/yaml",
            Takes::Form => "application/x-www-form-urlencoded",
        };
        let mut request = Request::builder()
            .method(&route.method)
            .uri(&called.path)
            .header("host", "steps.example")
            .header("origin", "http://steps.example")
            .header("content-type", kind)
            .extension(peer("203.0.113.9:40000"));
        request = match &called.cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => {
                let shown = called.bearer.as_ref().unwrap_or(&self.key);
                request.header("authorization", format!("Bearer {shown}"))
            }
        };
        ask(&self.router, request.body(Body::from(called.body)).unwrap()).await
    }

    /// The rows of the audit, the newest first.
    async fn audit(&self) -> Vec<Value> {
        self.place.get("/v1/audit?limit=1000").await.ok()["audit"].as_array().unwrap().clone()
    }
}

/// How each is called so that it succeeds; none where nobody has written that down.
async fn called(scene: &Scene, route: &str) -> Option<Call> {
    match route {
        "POST /v1/steps" => call("/v1/steps", json!({"steps": [{"action": "ghost"}]})),
        "POST /v1/steps/{id}/{verb}" => {
            call(format!("/v1/steps/{}/cancel", scene.step().await), json!({"why": "x"}))
        }
        "POST /v1/message-groups/{name}/{verb}" => {
            scene.step().await;
            call("/v1/message-groups/g/pause", json!({"why": "x"}))
        }
        "POST /v1/executions/forget" => {
            let begun = scene.made("/v1/executions/begin", json!({"namespace": "n", "key": "k"})).await;
            let done = json!({"namespace": "n", "key": "k", "owner": begun["owner"]}).to_string();
            assert_eq!(scene.place.post("/v1/executions/complete", done).await.status, 204);
            call("/v1/executions/forget", json!({"older_than_days": 0, "why": "old"}))
        }
        "POST /v1/retention" => {
            let step = scene.step().await;
            scene.made(&format!("/v1/steps/{step}/cancel"), json!({"why": "x"})).await;
            call("/v1/retention", json!({"archive": {"before": 4_000_000_000_000_000_i64, "why": "old"}}))
        }
        "POST /v1/bulk" => call("/v1/bulk", bulk()),
        "POST /v1/bulk/{id}/cancel" => {
            let id = scene.made("/v1/bulk", bulk()).await["id"].as_str().unwrap().to_string();
            call(format!("/v1/bulk/{id}/cancel"), json!({"why": "x"}))
        }
        "POST /v1/flows/{id}/{verb}" => {
            let flow = scene.made("/v1/flows", json!({"type": "t", "key": "1", "steps": ["a"]})).await;
            let id = flow["flow"]["id"].as_str().unwrap();
            call(format!("/v1/flows/{id}/cancel"), json!({"why": "x"}))
        }
        other => match of_workflows(scene, other).await {
            None => of_upkeep(scene, other).await,
            found => found,
        },
    }
}

fn bulk() -> Value {
    json!({"what": "steps", "filter": {"action": "nothing"}, "verb": "skip", "why": "x"})
}

async fn of_workflows(scene: &Scene, route: &str) -> Option<Call> {
    match route {
        "POST /v1/definitions" => entered("/v1/definitions", WAITS.replace("1.0.0", "1.1.0")),
        "POST /v1/workflows" => call("/v1/workflows", json!({"workflow": "waits"})),
        "POST /v1/workflows/{id}/triggers/{key}" => {
            let id = scene.workflow("asks", "paused").await;
            call(format!("/v1/workflows/{id}/triggers/boss"), json!({}))
        }
        "POST /v1/workflows/{id}/triggers/{key}/token" => {
            let id = scene.workflow("asks", "paused").await;
            call(format!("/v1/workflows/{id}/triggers/boss/token"), json!({}))
        }
        "POST /trigger/{workflow_id}/{trigger_key}" => {
            let (id, token) = scene.awaited().await;
            let bearer = Some(token);
            call(format!("/trigger/{id}/boss"), json!({})).map(|call| Call { bearer, ..call })
        }
        "POST /approve/{workflow_id}/{trigger_key}" => {
            let (id, token) = scene.awaited().await;
            entered(format!("/approve/{id}/boss"), format!("token={token}"))
        }
        "POST /waiting/{workflow_id}/{trigger_key}" => {
            let id = scene.workflow("asks", "paused").await;
            entered(format!("/waiting/{id}/boss"), "")
        }
        "POST /v1/workflows/{id}/resolve" => {
            let id = scene.workflow("fails", "failed").await;
            call(format!("/v1/workflows/{id}/resolve"), json!({"decision": "mark_resolved", "why": "x"}))
        }
        "POST /v1/workflows/{id}/{verb}" => {
            let id = scene.workflow("waits", "running").await;
            call(format!("/v1/workflows/{id}/pause"), json!({}))
        }
        "POST /v1/polls/recover" => call("/v1/polls/recover", json!({})),
        _ => None,
    }
}

/// Breakers, pools, the router, keys, and who is told of what.
async fn of_upkeep(scene: &Scene, route: &str) -> Option<Call> {
    match route {
        "POST /v1/breaker" => {
            call("/v1/breaker", json!({"off": true, "why": "x", "dispatch_group": "kappa"}))
        }
        "POST /step-dispatcher/toggle" => call("/step-dispatcher/toggle", json!({"enabled": true})),
        "POST /v1/pools" => call("/v1/pools", json!({"name": "card", "concurrency": 1})),
        "POST /v1/pools/{name}/remove" => {
            scene.made("/v1/pools", json!({"name": "mail", "concurrency": 1})).await;
            call("/v1/pools/mail/remove", json!({"why": "x"}))
        }
        "POST /v1/router/breakers/reset" => call("/v1/router/breakers/reset", json!({})),
        "POST /v1/router/pools" => call("/v1/router/pools", json!({"pools": []})),
        "POST /v1/router/pools/{code}/{verb}" => call("/v1/router/pools/mail/activate", json!({})),
        "POST /v1/keys" => call("/v1/keys", json!({"name": "y", "role": "viewer"})),
        "POST /v1/keys/{id}/revoke" => {
            let (_, id) = scene.place.key("viewer").await;
            call(format!("/v1/keys/{id}/revoke"), json!({}))
        }
        "POST /sign-in" => entered("/sign-in", format!("key={}", scene.key)),
        "POST /sign-out" => {
            let all = server::routes();
            let way_in = all.iter().find(|route| route.path == "/sign-in" && route.method == Method::POST);
            let entered = entered("/sign-in", format!("key={}", scene.key))?;
            let signed_in = scene.send(way_in?, entered).await;
            let cookie = signed_in.headers["set-cookie"].to_str().unwrap().split(';').next();
            let cookie = cookie.map(String::from);
            Some(Call { path: "/sign-out".into(), body: String::new(), bearer: None, cookie })
        }
        other => of_the_told(scene, other).await,
    }
}

async fn of_the_told(scene: &Scene, route: &str) -> Option<Call> {
    match route {
        "POST /v1/subscriptions" => {
            call("/v1/subscriptions", json!({"name": "x", "url": NOWHERE, "types": ["workflow.cancelled"]}))
        }
        "POST /v1/subscriptions/{id}" => {
            call(format!("/v1/subscriptions/{}", scene.subscription().await), json!({"secrets": "renew"}))
        }
        "POST /v1/subscriptions/{id}/remove" => {
            call(format!("/v1/subscriptions/{}/remove", scene.subscription().await), json!({}))
        }
        "POST /v1/subscriptions/{id}/test" => {
            call(format!("/v1/subscriptions/{}/test", scene.subscription().await), json!({}))
        }
        "POST /v1/channels" => {
            call("/v1/channels", json!({"name": "new", "kind": "webhook", "url": NOWHERE}))
        }
        "POST /v1/channels/{name}/remove" => {
            scene.channel().await;
            call("/v1/channels/ops/remove", json!({}))
        }
        "POST /v1/channels/{name}/test" => {
            scene.channel().await;
            call("/v1/channels/ops/test", json!({}))
        }
        "POST /v1/alerts/{id}/{verb}" => {
            scene.rule().await;
            scene.step().await;
            scene.made("/v1/stuck/detect", json!({})).await;
            let alert = scene.place.get("/v1/alerts").await.ok()["alerts"][0]["id"].as_u64().unwrap();
            call(format!("/v1/alerts/{alert}/note"), json!({"text": "looked at"}))
        }
        "POST /v1/stuck/detect" => call("/v1/stuck/detect", json!({"auto_resolve": true})),
        "PUT /v1/stuck/rules/{name}" => call("/v1/stuck/rules/step-waiting", json!({"older_than": "7h"})),
        "DELETE /v1/stuck/rules/{name}" => {
            scene.rule().await;
            call("/v1/stuck/rules/step-waiting", json!({}))
        }
        "PUT /v1/stuck/auto" => call("/v1/stuck/auto", json!({"auto": false})),
        _ => None,
    }
}

fn changing() -> Vec<Route> {
    server::routes().into_iter().filter(|route| route.method != Method::GET).collect()
}

fn name(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

#[tokio::test]
async fn s13_every_call_that_changes_something_leaves_a_row() {
    let scene = Scene::open().await;
    let mut told = 0;
    for route in changing() {
        let name = name(&route);
        if UNTOLD.iter().any(|(untold, _)| *untold == name) {
            continue;
        }
        let Some(asked) = called(&scene, &name).await else {
            panic!("{name} is new: say here how it is called, or in UNTOLD why it needs no row")
        };
        let before = scene.audit().await.len();
        let answer = scene.send(&route, asked).await;
        let is_done = answer.status.is_success() || answer.status.is_redirection();
        assert!(is_done, "{name}: {} {}", answer.status, answer.text());
        let rows = scene.audit().await;
        let new = &rows[..rows.len() - before];
        let by_key = new.iter().find(|row| row["who"] == scene.who.as_str());
        let by_token = new.iter().find(|row| {
            let who = row["who"].as_str().unwrap();
            name.contains("{trigger_key}")
                && who.starts_with("token of ")
                && who.ends_with(" from 203.0.113.9")
        });
        let row = by_key.or(by_token).unwrap_or_else(|| panic!("{name} has no row of its own: {new:#?}"));
        let says =
            ["before", "after"].iter().any(|side| row[*side].as_str().is_some_and(|text| !text.is_empty()));
        assert!(says, "{name}: neither before nor after: {row}");
        assert!(!row["target"].as_str().unwrap().is_empty(), "{name}: {row}");
        told += 1;
    }
    println!("{told} calls have a row, {} have none for a reason", UNTOLD.len());
    assert_eq!(told + UNTOLD.len(), changing().len(), "what has no row is a route, and is named once");
    scene.place.close().await;
}

/// A secret that is renewed or dropped, and whatever else nobody may see, is told by what changed about it.
#[tokio::test]
async fn s13_what_may_not_be_shown_is_told_all_the_same() {
    let scene = Scene::open().await;
    let (id, place) = (scene.subscription().await, &scene.place);
    let path = format!("/v1/subscriptions/{id}");
    let mut secrets = Vec::new();
    for body in [json!({"secrets": "renew"}), json!({"secrets": "drop_old"}), json!({"ordered": true})] {
        let changed = scene.made(&path, body).await;
        secrets.extend(changed["secret"].as_str().map(String::from));
    }
    scene.channel().await;
    let given = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    for more in [json!({"secrets": [given]}), json!({"quiet": "3h"})] {
        let mut body = json!({"name": "ops", "kind": "webhook", "url": NOWHERE});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        scene.made("/v1/channels", body).await;
    }
    secrets.push(given.into());
    let rows = scene.audit().await;
    let changes = rows.iter().filter(|row| row["before"].is_string() && row["verb"] != "create");
    let changes: Vec<&Value> = changes.collect();
    assert_eq!(changes.len(), 5, "{rows:#?}");
    for row in changes {
        assert_ne!(row["before"], row["after"], "{row}");
    }
    let text = place.get("/v1/audit").await;
    for secret in secrets {
        assert!(!text.text().contains(&secret) && !text.text().contains(&secret["whsec_".len()..]));
    }
    scene.place.close().await;
}

/// Of a flood of wrong keys the audit has one row for each address and minute, and nothing that was shown.
#[tokio::test]
async fn s13_wrong_keys_are_on_record_once_a_minute() {
    let scene = Scene::open().await;
    let wrong = format!("sf_{}_{}", "0".repeat(32), "e".repeat(64));
    let before = scene.audit().await.len();
    for (from, path) in
        [("203.0.113.9:1", "/sign-in"), ("203.0.113.10:1", "/v1/steps"), ("203.0.113.9:2", "/v1/steps")]
    {
        for _ in 0..5 {
            let (request, body) = match path {
                "/sign-in" => {
                    let form = "application/x-www-form-urlencoded";
                    (Request::post(path).header("content-type", form), format!("key={wrong}"))
                }
                _ => (Request::get(path).header("authorization", format!("Bearer {wrong}")), String::new()),
            };
            let request = request.header("host", "steps.example").extension(peer(from));
            let answer = ask(&scene.router, request.body(Body::from(body)).unwrap()).await;
            assert_eq!(answer.status, 401, "{}", answer.text());
        }
    }
    let rows = scene.audit().await;
    let told: Vec<String> = rows[..rows.len() - before]
        .iter()
        .map(|row| ["who", "verb", "target", "after"].map(|field| row[field].as_str().unwrap()).join(" | "))
        .collect();
    assert_eq!(
        told,
        [
            "nobody from 203.0.113.10 | refused | GET /v1/steps | refused",
            "nobody from 203.0.113.9 | refused | POST /sign-in | refused"
        ]
    );
    scene.place.close().await;
}
