//! A scope is a wall (S9): every route with the id of another tenant, outer and inner, and every list.

use crate::access::asked;
use crate::place::{Answer, Place, ask, peer};
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};
use stepfast_server::{self as server, Access, Route, Takes, Within};

/// The tenant whose key is tried has the queue `priority`; the other has `default`.
const OURS: &str = "priority";
const THEIRS: &str = "default";
/// Of the kind that nobody has.
const NOBODYS: &str = "00000000-0000-7000-8000-000000000001";
const SENTENCE: &str = "this key has a scope (priority)";

/// What a tenant has.
struct Tenant {
    step: String,
    workflow: String,
    alert: String,
    flow: String,
    bulk: String,
}

impl Tenant {
    /// What a path names, of this tenant.
    fn id(&self, within: Within) -> &str {
        match within {
            Within::Step => &self.step,
            Within::Workflow => &self.workflow,
            Within::Alert => &self.alert,
            Within::Flow => &self.flow,
            other => panic!("{other:?} names nothing"),
        }
    }
}

fn definition(name: &str, queue: &str) -> String {
    format!(
        "workflow: {name}\nversion: 1.0.0\nsteps:\n  - {{ key: wait, after: [], wait: 1ms, pause_after: {{ trigger: go, \
         timeout: 1d }} }}\n  - {{ key: pay, action: ghost, queue: {queue} }}\n"
    )
}

async fn key(place: &Place, role: &str, scope: &str) -> String {
    let body = json!({"name": format!("{role} {scope}"), "role": role, "scope": [scope]});
    place.post("/v1/keys", body.to_string()).await.ok()["key"].as_str().unwrap().to_string()
}

async fn keyed(place: &Place, key: &str, path: &str, body: Value) -> Answer {
    let request = asked(&Method::POST, path, Takes::Json).header("authorization", format!("Bearer {key}"));
    ask(&place.router, request.body(Body::from(body.to_string())).unwrap()).await
}

async fn look(place: &Place, key: &str, path: &str) -> Answer {
    let request = Request::get(path).header("host", "steps.example").extension(peer("203.0.113.9:40000"));
    let request = request.header("authorization", format!("Bearer {key}"));
    ask(&place.router, request.body(Body::empty()).unwrap()).await
}

async fn tenant(place: &Place, name: &str, queue: &str) -> Tenant {
    let key = key(place, "admin", queue).await;
    let step = place.create(&format!(r#"[{{"action": "ghost", "queue": "{queue}"}}]"#)).await.remove(0);
    place.define(definition(name, queue)).await.ok();
    let workflow = place.start(name, json!({})).await;
    let flow = json!({"type": format!("{queue}.payment"), "key": name, "steps": ["a"]});
    let flow = keyed(place, &key, "/v1/flows", flow).await.ok()["flow"]["id"].as_str().unwrap().to_string();
    let bulk = json!({"what": "steps", "filter": {"action": "none"}, "verb": "skip", "why": "x"});
    let bulk = keyed(place, &key, "/v1/bulk", bulk).await.ok()["id"].as_str().unwrap().to_string();
    Tenant { step, workflow, alert: String::new(), flow, bulk }
}

/// Two who share a server.
async fn tenants(place: &Place) -> (Tenant, Tenant) {
    let rule = json!({"older_than": "0s", "severity": "critical", "by": "anna"});
    let request = Request::put("/v1/stuck/rules/step-waiting").header("host", "localhost");
    let request = request.header("content-type", "application/json").body(Body::from(rule.to_string()));
    place.send(request.unwrap()).await.ok();
    let (mut ours, mut theirs) = (tenant(place, "ours", OURS).await, tenant(place, "theirs", THEIRS).await);
    for tenant in [&ours, &theirs] {
        place.until_workflow(&tenant.workflow, "paused").await;
    }
    place.post("/v1/stuck/detect", r#"{"auto_resolve": true}"#).await.ok();
    let alerts = place.get("/v1/alerts").await.ok();
    for tenant in [&mut ours, &mut theirs] {
        let mut all = alerts["alerts"].as_array().unwrap().iter();
        let about = all.find(|alert| alert["entity_id"] == tenant.step.as_str()).unwrap();
        tenant.alert = about["id"].to_string();
    }
    (ours, theirs)
}

async fn call(place: &Place, route: &Route, method: &Method, id: &str, key: &str) -> Answer {
    let path = route.path.replace("{id}", id).replace("{workflow_id}", id).replace("{trigger_key}", "go");
    let path =
        path.replace("{key}", "go").replace("{step}", "a").replace("/steps/a/{verb}", "/steps/a/complete");
    let path = if route.within == Within::Alert { path.replace("{verb}", "ack") } else { path };
    let body = if route.body == Takes::Form { "" } else { r#"{"why": "x"}"# };
    let request = asked(method, &path, route.body).header("authorization", format!("Bearer {key}"));
    ask(&place.router, request.body(Body::from(body)).unwrap()).await
}

fn methods(route: &Route) -> Vec<Method> {
    let with_head = (route.method == Method::GET).then_some(Method::HEAD);
    [Some(route.method.clone()), with_head].into_iter().flatten().collect()
}

#[tokio::test]
async fn s9_a_route_that_does_not_say_otherwise_is_closed_to_a_scope() {
    let place = Place::open();
    let admin = key(&place, "admin", OURS).await;
    let (mut closed, mut open) = (0, 0);
    for route in server::routes() {
        for method in methods(&route) {
            let answer = call(&place, &route, &method, NOBODYS, &admin).await;
            let cell = format!("{method} {}: {} {}", route.path, answer.status, answer.text());
            let needs = matches!(route.access, Access::Needs(_));
            if needs && route.within == Within::Closed {
                assert_eq!(answer.status, 403, "{cell}");
                assert!(method == Method::HEAD || answer.text().contains(SENTENCE), "{cell}");
                assert!(
                    method == Method::HEAD || answer.text().contains("use a key without a scope"),
                    "{cell}"
                );
                closed += 1;
            } else {
                let is_stream = route.path == "/v1/events";
                assert!(is_stream || !answer.text().contains("use a key without a scope"), "{cell}");
                open += 1;
            }
        }
    }
    println!("{closed} closed, {open} not");
    assert!(closed > 60 && open > 60);
    place.close().await;
}

#[tokio::test]
async fn s9_what_is_of_another_tenant_is_as_if_it_were_not_there() {
    let place = Place::open();
    let (ours, theirs) = tenants(&place).await;
    let (admin, all) = (key(&place, "admin", OURS).await, place.key("admin").await.0);
    let by_id = |within| matches!(within, Within::Step | Within::Workflow | Within::Alert | Within::Flow);
    let mut tried = 0;
    for route in server::routes().into_iter().filter(|route| by_id(route.within)) {
        let nobodys = if route.within == Within::Alert { "999999" } else { NOBODYS };
        let theirs = theirs.id(route.within);
        for method in methods(&route) {
            let there = call(&place, &route, &method, theirs, &admin).await;
            let nowhere = call(&place, &route, &method, nobodys, &admin).await;
            let cell = format!("{method} {}: {} {}", route.path, there.status, there.text());
            assert_eq!((there.status, nowhere.status), (404.try_into().unwrap(), there.status), "{cell}");
            assert_eq!(there.text().replace(theirs, "ID"), nowhere.text().replace(nobodys, "ID"), "{cell}");
            assert_eq!(there.headers.get("content-type"), nowhere.headers.get("content-type"), "{cell}");
            // Written otherwise, it is the same id.
            let coded: String = theirs.bytes().map(|byte| format!("%{byte:02x}")).collect();
            assert_eq!(call(&place, &route, &method, &coded, &admin).await.status, 404, "{cell}");
            let own = call(&place, &route, &method, ours.id(route.within), &admin).await;
            let is_there = own.text() != nowhere.text().replace(nobodys, ours.id(route.within));
            assert!(method == Method::HEAD || is_there, "{cell}: {}", own.text());
            if route.method == Method::GET && !route.path.contains("{key}") {
                assert_eq!(own.status, 200, "{cell}: {}", own.text());
                assert_eq!(call(&place, &route, &method, theirs, &all).await.status, 200, "{cell}");
            }
            tried += 1;
        }
    }
    println!("{tried} routes tried with what is of another tenant");
    assert!(tried > 40);
    let untouched = place.step(&theirs.step).await;
    assert_eq!((&untouched["state"], &untouched["version"]), (&json!("pending"), &json!(0)), "{untouched}");
    assert_eq!(place.get(&format!("/v1/workflows/{}", theirs.workflow)).await.ok()["state"], "paused");
    place.close().await;
}

#[tokio::test]
async fn s9_lists_and_pages_hold_what_is_of_the_tenant_alone() {
    let place = Place::open();
    let (ours, theirs) = tenants(&place).await;
    let (admin, all) = (key(&place, "admin", OURS).await, place.key("admin").await.0);
    for (path, mine, other) in [
        ("/v1/steps", &ours.step, &theirs.step),
        ("/v1/steps?state=pending&limit=1000", &ours.step, &theirs.step),
        ("/v1/workflows?limit=1000", &ours.workflow, &theirs.workflow),
        ("/v1/workflows?state=paused", &ours.workflow, &theirs.workflow),
        ("/v1/pauses", &ours.workflow, &theirs.workflow),
        ("/v1/alerts", &ours.step, &theirs.step),
        ("/v1/definitions", &"\"ours\"".to_string(), &"\"theirs\"".to_string()),
        ("/v1/bulk", &ours.bulk, &theirs.bulk),
        ("/step-dispatcher/steps", &ours.step, &theirs.step),
        ("/workflows", &ours.workflow, &theirs.workflow),
        ("/bulk", &ours.bulk, &theirs.bulk),
    ] {
        let (shown, whole) = (look(&place, &admin, path).await, look(&place, &all, path).await);
        assert_eq!((shown.status, whole.status), (200.try_into().unwrap(), shown.status), "{path}");
        assert!(shown.text().contains(mine.as_str()), "{path}: {}", shown.text());
        assert!(!shown.text().contains(other.as_str()), "{path}: {}", shown.text());
        assert!(whole.text().contains(mine.as_str()) && whole.text().contains(other.as_str()), "{path}");
    }
    let none = look(&place, &admin, "/v1/steps?queue=default").await.ok();
    assert_eq!(none["steps"], json!([]));
    for path in
        ["/v1/definitions/theirs", "/v1/definitions/theirs/1.0.0", "/v1/definitions/theirs/1.0.0/graph"]
    {
        let (there, nowhere) =
            (look(&place, &admin, path).await, look(&place, &admin, &path.replace("theirs", "nobody")).await);
        there.refused(404, "not_found");
        assert_eq!(there.text().replace("theirs", "nobody"), nowhere.text());
        look(&place, &admin, &path.replace("theirs", "ours"))
            .await
            .status
            .is_success()
            .then_some(())
            .unwrap();
    }
    for (id, status) in [(&theirs.bulk, 404), (&ours.bulk, 200)] {
        assert_eq!(look(&place, &admin, &format!("/v1/bulk/{id}")).await.status, status);
        assert_eq!(look(&place, &admin, &format!("/bulk/{id}")).await.status, status);
        let path = format!("/v1/bulk/{id}/cancel");
        assert_eq!(keyed(&place, &admin, &path, json!({"why": "x"})).await.status, status);
    }
    assert_eq!(look(&place, &admin, "/").await.headers["location"], "/step-dispatcher/steps");
    assert_eq!(look(&place, &all, "/").await.headers["location"], "/step-dispatcher");
    place.close().await;
}

#[tokio::test]
async fn s9_what_a_body_names_is_looked_at_too() {
    let place = Place::open();
    let (ours, theirs) = tenants(&place).await;
    let admin = key(&place, "admin", OURS).await;
    let tree = r#"[{"action": "ghost", "children": [{"action": "ghost"}]}]"#;
    let parent = place.create(tree).await.remove(0);
    let steps = place.get("/v1/steps?limit=1").await.ok();
    let block = steps["steps"][0]["block_id"].clone();
    assert_eq!(steps["steps"][0]["parent_step_id"], parent.as_str());
    let new = |field: &str, id: &Value| {
        let mut step = json!({"action": "ghost", "queue": OURS});
        step[field] = id.clone();
        json!({"steps": [{"action": "ghost", "queue": OURS}, step]})
    };
    for (field, id) in
        [("parent_step_id", json!(theirs.step)), ("parent_step_id", json!(NOBODYS)), ("block_id", block)]
    {
        let told = keyed(&place, &admin, "/v1/steps", new(field, &id)).await.refused(403, "forbidden");
        assert_eq!(told["faults"][0]["field"], format!("steps[1].{field}"), "{told}");
    }
    keyed(&place, &admin, "/v1/steps", new("parent_step_id", &json!(ours.step))).await;
    // A definition of theirs gets no version of ours, and none of theirs is started.
    let request = asked(&Method::POST, "/v1/definitions", Takes::Text);
    let request = request.header("authorization", format!("Bearer {admin}"));
    let taken = definition("theirs", OURS).replace("1.0.0", "2.0.0");
    ask(&place.router, request.body(Body::from(taken)).unwrap()).await.refused(403, "forbidden");
    let start = json!({"workflow": "theirs"});
    keyed(&place, &admin, "/v1/workflows", start).await.refused(404, "not_found");
    let send = format!("/trigger/{}/go", theirs.workflow);
    keyed(&place, &admin, &send, json!({})).await.refused(404, "not_found");
    keyed(&place, &admin, &send.replace(&theirs.workflow, NOBODYS), json!({}))
        .await
        .refused(404, "not_found");
    keyed(&place, &admin, &send.replace(&theirs.workflow, &ours.workflow), json!({})).await.ok();
    let listen = |id: &str| format!("/v1/events?workflow_id={id}");
    look(&place, &admin, &listen(&theirs.workflow)).await.refused(404, "not_found");
    look(&place, &admin, "/v1/events").await.refused(403, "forbidden");
    for name in ["payments", "default.payments"] {
        let begin = json!({"namespace": name, "key": "1"});
        keyed(&place, &admin, "/v1/executions/begin", begin).await.refused(403, "forbidden");
        look(&place, &admin, &format!("/v1/executions/{name}/1")).await.refused(403, "forbidden");
    }
    let begin = json!({"namespace": "priority.payments", "key": "1"});
    keyed(&place, &admin, "/v1/executions/begin", begin).await.ok();
    place.close().await;
}

#[tokio::test]
async fn s9_a_bulk_operation_reaches_no_further_than_its_key() {
    let place = Place::open();
    let (ours, theirs) = tenants(&place).await;
    let admin = key(&place, "admin", OURS).await;
    let all = json!({"what": "steps", "filter": {"action": "ghost"}, "verb": "cancel", "why": "x", "dry_run": true});
    let preview = keyed(&place, &admin, "/v1/bulk", all.clone()).await.ok();
    assert_eq!(
        (&preview["matched"], &preview["sample"][0]["id"]),
        (&json!(1), &json!(ours.step)),
        "{preview}"
    );
    assert_eq!(place.post("/v1/bulk", all.to_string()).await.ok()["matched"], 2);
    let run = json!({"what": "steps", "filter": {"action": "ghost"}, "verb": "cancel", "why": "x"});
    let running = keyed(&place, &admin, "/v1/bulk", run).await.ok();
    let id = running["id"].as_str().unwrap();
    // What stands in the order on record is what is done.
    let shown = place.get(&format!("/v1/workflows/{id}")).await.ok();
    let order: server::BulkOrder = serde_json::from_value(shown["input"].clone()).unwrap();
    let bulk = server::Bulk::new(place.engine.clone(), place.site().database);
    assert!(matches!(bulk.batch(&order, None, id.parse().unwrap()).await, Ok(server::BulkTurn::Over(_))));
    assert_eq!(place.step(&ours.step).await["state"], "cancelled");
    assert_eq!(place.step(&theirs.step).await["state"], "pending");
    for (filter, status) in [
        (json!({"workflow": "theirs"}), 403),
        (json!({"state": ["paused"]}), 403),
        (json!({"workflow": "ours"}), 200),
        (json!({"workflow": "ours", "version": "1.0.0"}), 200),
    ] {
        let body = json!({"what": "workflows", "filter": filter, "verb": "cancel", "dry_run": true});
        assert_eq!(keyed(&place, &admin, "/v1/bulk", body).await.status, status, "{filter}");
    }
    place.close().await;
}

#[tokio::test]
async fn s9_a_worker_tells_nothing_of_the_steps_of_another_tenant() {
    let place = Place::open();
    let (ours, theirs) = tenants(&place).await;
    let worker = key(&place, "worker", OURS).await;
    let offer = json!({"actions": ["ghost"], "capacity": 5, "wait_ms": 5000});
    let claimed = keyed(&place, &worker, "/v1/worker/claim", offer).await.ok();
    assert_eq!(claimed["claims"][0]["step"], ours.step.as_str());
    let session = &claimed["session"];
    let report = |step: &str| json!({"step": step, "attempt": 1, "outcome": "complete", "log": [{"at": 1, "text": "x"}]});
    let plain = |step: &str| json!({"step": step, "attempt": 1, "outcome": "complete"});
    let reports = json!([plain(&theirs.step), report(&theirs.step), plain(NOBODYS), plain(&ours.step)]);
    let body = json!({"session": session, "reports": reports});
    let told = keyed(&place, &worker, "/v1/worker/report", body).await.ok();
    let answers = told["answers"].as_array().unwrap();
    assert_eq!((&answers[0], answers[0]["answer"].as_str()), (&answers[2], Some("late")), "{told}");
    assert_eq!(answers[3]["answer"], "applied", "{told}");
    let untouched = place.step(&theirs.step).await;
    assert_eq!((&untouched["late_reports"], &untouched["log"]), (&json!(0), &json!([])), "{untouched}");
    let lost = async |step: &str| {
        let body = json!({"session": session, "held": [{"step": step, "attempt": 1}],
                          "progress": [{"step": step, "attempt": 1, "done": 1}]});
        let answer = keyed(&place, &worker, "/v1/worker/heartbeat", body).await;
        (answer.status, answer.text().replace(step, "ID"))
    };
    assert_eq!(lost(&theirs.step).await, lost(NOBODYS).await);
    let previous = async |step: &str| {
        let body = json!({"session": session, "step": step, "attempt": 1});
        let answer = keyed(&place, &worker, "/v1/worker/previous", body).await;
        (answer.status, answer.text().replace(step, "ID"))
    };
    assert_eq!(previous(&theirs.step).await, previous(NOBODYS).await);
    place.close().await;
}
