//! Every route and every method, asked by everyone: nobody, each role, and bodies that want too much.

use crate::place::{Answer, Place, ask, peer};
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use model::{Right, Role};
use serde_json::{Value, json};
use stepfast_server::{self as server, Access, Route, Takes, Within};

/// What each route asks for, and what it is about for a key with a scope, to which every other is closed. A new route is added here
/// by whoever has thought about it.
const EXPECTED: &str = "
    GET  /livez                      open
    GET  /readyz                     open
    GET  /metrics                    view
    POST /api/dispatch/process       token
    GET  /v1/steps                   view each
    POST /v1/steps                   start each
    GET  /v1/steps/{id}              view step
    GET  /v1/steps/{id}/attempts     view step
    POST /v1/steps/{id}/{verb}       operate step
    GET  /v1/definitions             view each
    POST /v1/definitions             operate each
    GET  /v1/definitions/{workflow}  view each
    GET  /v1/definitions/{workflow}/{version} view each
    GET  /v1/definitions/{workflow}/{version}/graph view each
    GET  /v1/workflows               view each
    POST /v1/workflows               start each
    GET  /v1/workflows/{id}          view workflow
    GET  /v1/workflows/{id}/events   view workflow
    GET  /v1/workflows/{id}/decisions view workflow
    GET  /v1/workflows/{id}/graph    view workflow
    GET  /v1/workflows/{id}/steps/{key}/items view workflow
    GET  /v1/workflows/{id}/triggers view workflow
    POST /v1/workflows/{id}/triggers/{key} operate workflow
    POST /v1/workflows/{id}/triggers/{key}/token operate workflow
    POST /trigger/{workflow_id}/{trigger_key} token
    GET  /v1/pauses                  view each
    POST /v1/workflows/{id}/resolve  operate workflow
    POST /v1/workflows/{id}/{verb}   operate workflow
    GET  /v1/polls                   view
    POST /v1/polls/recover           operate
    GET  /v1/events                  view each
    GET  /v1/subscriptions           view
    POST /v1/subscriptions           administer
    GET  /v1/subscriptions/{id}      view
    POST /v1/subscriptions/{id}      administer
    POST /v1/subscriptions/{id}/remove administer
    POST /v1/subscriptions/{id}/test operate
    GET  /v1/groups                  view
    GET  /v1/breaker                 view
    POST /v1/breaker                 operate
    GET  /v1/pools                   view
    POST /v1/pools                   operate
    POST /v1/pools/{name}/remove     operate
    GET  /v1/message-groups          view
    GET  /v1/message-groups/{name}   view
    POST /v1/message-groups/{name}/{verb} operate
    GET  /v1/router                  view
    POST /v1/router/breakers/reset   operate
    POST /v1/router/pools            operate
    POST /v1/router/pools/{code}/{verb} operate
    GET  /v1/drain                   view
    GET  /v1/ticks                   view
    GET  /v1/nodes                   view
    GET  /v1/audit                   view
    POST /v1/worker/claim            work each
    POST /v1/worker/heartbeat        work each
    POST /v1/worker/report           work each
    POST /v1/worker/leave            work each
    POST /v1/worker/previous         work each
    GET  /v1/executions              view each
    POST /v1/executions/begin        work each
    POST /v1/executions/complete     work each
    POST /v1/executions/fail         work each
    POST /v1/executions/renew        work each
    POST /v1/executions/forget       administer
    GET  /v1/executions/{namespace}/{key} view each
    POST /v1/retention               administer
    GET  /v1/keys                    administer
    POST /v1/keys                    administer
    POST /v1/keys/{id}/revoke        administer
    GET  /v1/progress                view
    GET  /v1/workflows/{id}/progress view workflow
    GET  /v1/steps/{id}/progress     view step
    GET  /v1/flows                   view
    POST /v1/flows                   track each
    GET  /v1/flows/{id}              view flow
    GET  /v1/flows/{id}/progress     view flow
    POST /v1/flows/{id}/steps/{step}/{verb} track flow
    POST /v1/flows/{id}/state        track flow
    POST /v1/flows/{id}/finish       track flow
    POST /v1/flows/{id}/{verb}       operate flow
    GET  /v1/alerts                  view each
    GET  /v1/alerts/figures          view
    GET  /v1/alerts/{id}             view alert
    POST /v1/alerts/{id}/{verb}      operate alert
    POST /v1/stuck/detect            operate
    GET  /v1/stuck/rules             view
    GET  /v1/stuck/rules/{name}      view
    PUT  /v1/stuck/rules/{name}      administer
    DELETE /v1/stuck/rules/{name}    administer
    PUT  /v1/stuck/auto              operate
    GET  /v1/channels                view
    POST /v1/channels                administer
    GET  /v1/channels/{name}         view
    POST /v1/channels/{name}/remove  administer
    POST /v1/channels/{name}/test    operate
    GET  /v1/notices                 view
    GET  /openapi.json               open
    GET  /definition.schema.json     open
    GET  /v1/definitions/{workflow}/{version}/diff view each
    GET  /v1/pools/{name}            view
    GET  /v1/check                   administer
    GET  /v1/bulk                    view each
    POST /v1/bulk                    operate each
    GET  /v1/bulk/{id}               view each
    POST /v1/bulk/{id}/cancel        operate each
    GET  /                           view nothing
    GET  /step-dispatcher            view
    GET  /step-dispatcher/api        view
    GET  /step-dispatcher/live       view
    POST /step-dispatcher/toggle     operate
    GET  /step-dispatcher/steps      view each
    GET  /step-dispatcher/steps/{id} view step
    GET  /workflows                  view each
    GET  /workflows/{id}             view workflow
    GET  /bulk                       view each
    GET  /bulk/{id}                  view each
    GET  /alerts                     view
    GET  /alerts/{id}                view alert
    GET  /message-groups             view
    GET  /message-groups/{name}      view
    GET  /notifications              view
    GET  /approve/{workflow_id}/{trigger_key} token
    POST /approve/{workflow_id}/{trigger_key} token
    GET  /sign-in                    open
    POST /sign-in                    open
    POST /sign-out                   view nothing
    GET  /progress                   view
    GET  /flows                      view
    GET  /flows/{id}                 view
    GET  /docs/api                   open
    GET  /docs/errors                open
    GET  /docs/errors/{code}         open
    GET  /waiting                    view
    GET  /waiting/{workflow_id}/{trigger_key} operate workflow
    POST /waiting/{workflow_id}/{trigger_key} operate workflow
    GET  /pools                      view
    GET  /executions                 view
    GET  /executions/{namespace}/{key} view
    GET  /definitions                view
    GET  /definitions/{workflow}     view
    GET  /definitions/{workflow}/{version} view
    GET  /nodes                      view
    GET  /settings                   view
    GET  /keys                       administer
    GET  /audit                      view
    GET  /assets/graph.css           open
    GET  /assets/{name}              open";

fn word(access: Access) -> &'static str {
    match access {
        Access::Open => "open",
        Access::Token => "token",
        Access::Needs(right) => right.word(),
    }
}

fn word_within(within: Within) -> String {
    match within {
        Within::Closed => String::new(),
        open => format!("{open:?}").to_lowercase(),
    }
}

fn expected() -> Vec<(String, String, String, String)> {
    let lines = EXPECTED.lines().map(str::split_whitespace).map(Iterator::collect::<Vec<_>>);
    lines
        .filter(|words| words.len() >= 3)
        .map(|words| {
            let within = words.get(3).copied().unwrap_or_default();
            (words[0].into(), words[1].into(), words[2].into(), within.into())
        })
        .collect()
}

#[test]
fn every_route_asks_for_what_was_decided() {
    let declared: Vec<_> = server::routes()
        .iter()
        .map(|route| {
            let (method, path) = (route.method.to_string(), route.path.to_string());
            (method, path, word(route.access).to_string(), word_within(route.within))
        })
        .collect();
    assert_eq!(declared, expected());
}

/// A path that exists as far as the router is concerned.
pub fn filled(path: &str) -> String {
    let id = "00000000-0000-0000-0000-000000000001";
    // A place that does not exist: whoever may listen is told so, and does not listen for ever.
    let path = path.replace("/v1/events", "/v1/events?after=nowhere");
    let path = path.replace("/step-dispatcher/live", "/step-dispatcher/live?what=ever");
    path.replace("{id}", id)
        .replace("{verb}", "cancel")
        .replace("{name}", "page.css")
        .replace("{code}", "late")
}

pub fn asked(method: &Method, path: &str, takes: Takes) -> axum::http::request::Builder {
    let kind = match takes {
        Takes::Json => "application/json",
        Takes::Text => "application/yaml",
        Takes::Form => "application/x-www-form-urlencoded",
    };
    Request::builder()
        .method(method)
        .uri(filled(path))
        .header("host", "steps.example")
        .header("content-type", kind)
        .extension(peer("203.0.113.9:40000"))
}

fn methods() -> Vec<Method> {
    let words = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];
    words.iter().map(|word| word.parse().unwrap()).collect()
}

#[tokio::test]
async fn s1_from_elsewhere_nothing_is_answered_without_a_key() {
    let place = Place::open();
    let allowed = [
        "/livez",
        "/readyz",
        "/openapi.json",
        "/definition.schema.json",
        "/sign-in",
        "/docs/api",
        "/docs/errors",
        "/docs/errors/{code}",
        "/assets/graph.css",
        "/assets/{name}",
    ];
    let mut paths: Vec<&str> = server::routes().iter().map(|route| route.path).collect();
    paths.dedup();
    paths.extend(["/nothing", "/v1", "/v1/steps/", "//v1/steps", "/v1/keys/x/y/z"]);
    let (mut refused, mut answered) = (0, 0);
    for path in paths {
        for method in methods() {
            let request = asked(&method, path, Takes::Json).body(Body::from("{}")).unwrap();
            let answer = ask(&place.router, request).await;
            let is_read = matches!(method, Method::GET | Method::HEAD);
            let is_entry = path == "/sign-in" && method == Method::POST;
            if path == "/api/dispatch/process" && method == Method::POST {
                // It looks at a token of its own, where it is there at all.
                assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.text());
                continue;
            }
            if path.starts_with("/approve/") && (is_read || method == Method::POST) {
                // A page for people that looks at a token of its own, and takes nothing but a form.
                assert_eq!(answer.status, if is_read { 401 } else { 415 }, "{}", answer.text());
                continue;
            }
            if allowed.contains(&path) && (is_read || is_entry) {
                // The entry refuses a body that is not a form, and asks for no key.
                let status = if is_entry { StatusCode::UNSUPPORTED_MEDIA_TYPE } else { StatusCode::OK };
                assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
                answered += 1;
                continue;
            }
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{method} {path}");
            assert_eq!(answer.headers["www-authenticate"], "Bearer realm=\"stepfast\"");
            assert_eq!(answer.headers["x-content-type-options"], "nosniff");
            assert_eq!(answer.headers["cache-control"], "no-store");
            if method != Method::HEAD {
                answer.refused(401, "unauthorized");
            }
            refused += 1;
        }
    }
    println!("{refused} refused, {answered} answered");
    assert_eq!(answered, allowed.len() * 2 + 1);
    place.close().await;
}

/// Not what was asked for, but nobody was turned away.
fn passed(answer: &Answer) -> bool {
    !matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

async fn call(place: &Place, route: &Route, method: &Method, key: &str) -> Answer {
    let body = match (route.body, route.path) {
        (Takes::Form, "/sign-in") => format!("key={key}"),
        (Takes::Form, _) => String::new(),
        (Takes::Json | Takes::Text, _) => "{}".into(),
    };
    let request = asked(method, route.path, route.body).header("authorization", format!("Bearer {key}"));
    ask(&place.router, request.body(Body::from(body)).unwrap()).await
}

#[tokio::test]
async fn s8_every_role_may_call_exactly_its_routes() {
    let place = Place::open();
    let (mut cells, mut open) = (0, 0);
    for role in Role::ALL {
        let (key, _) = place.key(role.word()).await;
        for route in server::routes() {
            let with_head = (route.method == Method::GET).then_some(Method::HEAD);
            for method in [Some(route.method.clone()), with_head].into_iter().flatten() {
                let answer = call(&place, &route, &method, &key).await;
                if route.path.starts_with("/approve/") {
                    assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "a key is no token");
                    cells += 1;
                    continue;
                }
                // The entry is open, and lets in whoever may look.
                let needed = match (route.access, route.path) {
                    (Access::Open, "/sign-in") if method == Method::POST => Some(Right::View),
                    (Access::Token, "/trigger/{workflow_id}/{trigger_key}") => Some(Right::Operate),
                    (Access::Open | Access::Token, _) => None,
                    (Access::Needs(right), _) => Some(right),
                };
                let may = needed.is_none_or(|right| role.may(right));
                let cell = format!("{role} {method} {}: {} {}", route.path, answer.status, answer.text());
                assert_eq!(passed(&answer), may, "{cell}");
                if let Some(right) = needed.filter(|_| !may) {
                    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{cell}");
                    let told = method == Method::HEAD || answer.text().contains(&format!("`{right}`"));
                    assert!(told, "{cell}");
                }
                cells += 1;
                open += usize::from(may);
            }
        }
        for (method, path) in [(Method::GET, "/nothing"), (Method::DELETE, "/v1/steps")] {
            let request = asked(&method, path, Takes::Json).header("authorization", format!("Bearer {key}"));
            let answer = ask(&place.router, request.body(Body::empty()).unwrap()).await;
            let wanted = if method == Method::GET { 404 } else { 405 };
            assert_eq!(answer.status, wanted, "{role} {method} {path}: {}", answer.text());
        }
    }
    println!("{cells} cells, {open} of them open");
    assert_eq!(
        cells,
        Role::ALL.len() * (expected().len() + expected().iter().filter(|e| e.0 == "GET").count())
    );
    place.close().await;
}

/// What rows hold and no caller says: of steps, of keys, and of systems like this one.
const INTERNAL: [&str; 36] = [
    "id",
    "state",
    "reason",
    "parked",
    "throttled",
    "wake_at",
    "attempt",
    "failed_attempts",
    "lost_attempts",
    "polls",
    "session_id",
    "tick_id",
    "version",
    "created_at",
    "dispatched_at",
    "started_at",
    "completed_at",
    "response",
    "error_message",
    "superseded_by",
    "was_notified",
    "late_reports",
    "hash",
    "secret",
    "key",
    "created_by",
    "expires_at",
    "revoked_at",
    "last_used_at",
    "owner_id",
    "epoch",
    "tenant",
    "lease_ends_at",
    "is_admin",
    "rights",
    "__proto__",
];

#[tokio::test]
async fn s10_no_body_sets_what_is_not_its_to_set() {
    let place = Place::open();
    let made = place.create(r#"[{"action": "ghost"}]"#).await;
    let (_, key) = place.key("viewer").await;
    let bodies = [
        ("/v1/steps".to_string(), json!({"steps": [{"action": "ghost"}]}), vec!["", "/steps/0"]),
        (
            "/v1/steps".into(),
            json!({"steps": [{"action": "ghost", "children": [{"action": "ghost"}]}]}),
            vec!["/steps/0/children/0"],
        ),
        (format!("/v1/steps/{}/cancel", made[0]), json!({"why": "x"}), vec![""]),
        ("/v1/workflows".into(), json!({"workflow": "x", "version": "1.0.0"}), vec![""]),
        (format!("/v1/workflows/{}/cancel", made[0]), json!({"why": "x"}), vec![""]),
        (format!("/v1/workflows/{}/resolve", made[0]), json!({"decision": "retry"}), vec![""]),
        (format!("/v1/workflows/{}/triggers/x/token", made[0]), json!({}), vec![""]),
        (
            "/v1/subscriptions".into(),
            json!({"name": "x", "url": "https://example.com", "types": ["*"]}),
            vec![""],
        ),
        (format!("/v1/subscriptions/{}", made[0]), json!({"name": "x"}), vec![""]),
        (format!("/v1/subscriptions/{}/remove", made[0]), json!({}), vec![""]),
        (format!("/v1/subscriptions/{}/test", made[0]), json!({}), vec![""]),
        (
            "/v1/channels".into(),
            json!({"name": "x", "kind": "webhook", "url": "https://example.com", "secrets": []}),
            vec![""],
        ),
        ("/v1/channels/x/remove".into(), json!({}), vec![""]),
        ("/v1/channels/x/test".into(), json!({}), vec![""]),
        ("/v1/polls/recover".into(), json!({"older_seconds": 60}), vec![""]),
        ("/v1/breaker".into(), json!({"off": true, "why": "x"}), vec![""]),
        ("/v1/pools".into(), json!({"name": "x", "concurrency": 1}), vec![""]),
        ("/v1/pools/x/remove".into(), json!({"why": "x"}), vec![""]),
        ("/v1/message-groups/x/pause".into(), json!({"why": "x"}), vec![""]),
        ("/v1/router/breakers/reset".into(), json!({}), vec![""]),
        ("/v1/router/pools".into(), json!({"pools": []}), vec![""]),
        ("/v1/router/pools/x/suspend".into(), json!({}), vec![""]),
        ("/v1/retention".into(), json!({"archive": {"before": 1, "why": "x"}}), vec!["", "/archive"]),
        (
            "/v1/bulk".into(),
            json!({"what": "steps", "filter": {"queue": "x"}, "verb": "skip", "dry_run": true}),
            vec!["", "/filter"],
        ),
        (format!("/v1/bulk/{}/cancel", made[0]), json!({"why": "x"}), vec![""]),
        ("/v1/keys".into(), json!({"name": "x", "role": "admin"}), vec![""]),
        (format!("/v1/keys/{key}/revoke"), json!({}), vec![""]),
        ("/step-dispatcher/toggle".into(), json!({"enabled": false}), vec![""]),
        ("/v1/worker/claim".into(), json!({"actions": ["ghost"]}), vec![""]),
        (
            "/v1/worker/heartbeat".into(),
            json!({"session": made[0], "held": [{"step": made[0], "attempt": 1}],
                   "progress": [{"step": made[0], "attempt": 1, "done": 1}]}),
            vec!["", "/held/0", "/progress/0"],
        ),
        ("/v1/worker/report".into(), json!({"session": made[0], "reports": []}), vec![""]),
        ("/v1/executions/begin".into(), json!({"namespace": "n", "key": "k"}), vec![""]),
        ("/v1/executions/complete".into(), json!({"namespace": "n", "key": "k", "owner": made[0]}), vec![""]),
        (
            "/v1/executions/fail".into(),
            json!({"namespace": "n", "key": "k", "owner": made[0], "error": "e"}),
            vec![""],
        ),
        ("/v1/executions/renew".into(), json!({"namespace": "n", "key": "k", "owner": made[0]}), vec![""]),
        ("/v1/executions/forget".into(), json!({"why": "x"}), vec![""]),
        (
            "/v1/flows".into(),
            json!({"type": "t", "key": "1", "steps": ["a"], "retry": {"action": "ghost"}}),
            vec!["", "/retry"],
        ),
        (format!("/v1/flows/{}/steps/a/complete", made[0]), json!({}), vec![""]),
        (format!("/v1/flows/{}/state", made[0]), json!({"state": "x"}), vec![""]),
        (format!("/v1/flows/{}/finish", made[0]), json!({"state": "x"}), vec![""]),
        (format!("/v1/flows/{}/cancel", made[0]), json!({"why": "x"}), vec![""]),
        ("/v1/alerts/1/note".into(), json!({"text": "t"}), vec![""]),
        ("/v1/stuck/detect".into(), json!({"dry_run": true}), vec![""]),
        ("/v1/worker/leave".into(), json!({"session": made[0]}), vec![""]),
        ("/v1/worker/previous".into(), json!({"session": made[0], "step": made[0], "attempt": 1}), vec![""]),
    ];
    let all = server::routes();
    let posts = all.iter().filter(|r| r.method == Method::POST && r.body == Takes::Json);
    // What a router sends may say more in a later version.
    let posts = posts.filter(|r| r.access != Access::Token);
    // What is sent to a trigger is whatever its definition asks for.
    let posts = posts.filter(|r| r.path != "/v1/workflows/{id}/triggers/{key}").count();
    assert_eq!(posts, 44, "every route that takes JSON is tried: add the new one");
    let all = async || {
        let [steps, breaker, keys, audit] =
            ["/v1/steps", "/v1/breaker", "/v1/keys", "/v1/audit"].map(|path| place.get(path));
        [steps.await.ok(), breaker.await.ok(), keys.await.ok(), audit.await.ok()]
    };
    let before = all().await;
    let mut tried = 0;
    for (path, body, places) in &bodies {
        for (place_in_body, column) in places.iter().flat_map(|p| INTERNAL.map(|column| (p, column))) {
            let mut body: Value = body.clone();
            if body.pointer(place_in_body).unwrap().get(column).is_some() {
                // Its own to set.
                continue;
            }
            body.pointer_mut(place_in_body).unwrap()[column] = json!("x");
            let answer = place.post(path, body.to_string()).await;
            assert!(matches!(answer.status.as_u16(), 400 | 422), "{path} took {body}: {}", answer.text());
            tried += 1;
        }
    }
    println!("{tried} bodies refused");
    assert_eq!(all().await, before);
    place.close().await;
}
