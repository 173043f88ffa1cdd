use crate::place::{Place, endless};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

/// An order of two steps.
fn order(version: &str, action: &str) -> String {
    format!(
        "workflow: order\nversion: {version}\nsteps:\n  - {{ key: pay, action: {action} }}\n  - {{ key: ship, action: noop }}\n"
    )
}

#[tokio::test]
async fn a_definition_is_stored_once_and_stays_as_it_is() {
    let place = Place::open();
    let tried = place.define_with("?dry_run=true", order("1.0.0", "noop")).await;
    assert_eq!((tried.status.as_u16(), &tried.ok()["outcome"]), (200, &json!("created")));
    assert_eq!(place.get("/v1/definitions").await.ok(), json!({"definitions": []}), "only tried");
    let made = place.define(order("1.0.0", "noop")).await;
    assert_eq!(made.status, 201);
    let made = made.ok();
    assert_eq!((&made["workflow"], &made["version"]), (&json!("order"), &json!("1.0.0")));
    assert_eq!(
        (&made["outcome"], &made["changes"], &made["live"]),
        (&json!("created"), &json!([]), &json!([]))
    );
    // The same in JSON, laid out otherwise.
    let json = r#"{"version": "1.0.0", "workflow": "order", "steps": [{"action": "noop", "key": "pay"}, {"action": "noop", "key": "ship"}]}"#;
    let again = place.post("/v1/definitions", json).await;
    assert_eq!((again.status.as_u16(), &again.ok()["outcome"]), (200, &json!("unchanged")));
    assert_eq!(again.json()["hash"], made["hash"]);
    for query in ["", "?dry_run=true"] {
        let other = place.define_with(query, order("1.0.0", "fail")).await.refused(409, "definition_differs");
        assert!(other["detail"].as_str().unwrap().contains("give it another version"), "{other}");
    }
    let newer = place.define(order("1.1.0", "fail")).await.ok();
    assert_eq!(newer["changes"], json!(["~ version: 1.0.0 → 1.1.0", "~ step `pay` action: noop → fail"]));
    let audit = place.get("/v1/audit").await.ok();
    let told = ["who", "verb", "target"].map(|field| audit["audit"][0][field].as_str().unwrap().to_string());
    assert_eq!(told, ["loopback", "apply", "definition order 1.1.0"]);
    assert_eq!(audit["audit"].as_array().unwrap().len(), 2);
    place.close().await;
}

#[tokio::test]
async fn what_is_wrong_is_told_with_its_place() {
    let place = Place::open();
    let wrong = "workflow: order\nversion: 1.0.0\nsteps:\n  - key: pay\n    actoin: noop\n  - { key: pay, action: noop }\n";
    let problem = place.define(wrong).await.refused(422, "invalid_definition");
    let first = &problem["errors"][0];
    assert_eq!((&first["line"], &first["column"]), (&json!(5), &json!(5)));
    assert_eq!(
        (&first["message"], &first["fix"]),
        (&json!("unknown key `actoin` in a step"), &json!("write `action`"))
    );
    assert!(problem["errors"].as_array().unwrap().len() > 1, "everything at once: {problem}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("line 5, column 5: unknown key `actoin` in a step; write `action` ("),
        "{detail}"
    );
    assert_eq!(place.get("/v1/definitions").await.ok()["definitions"], json!([]));
    place.close().await;
}

#[tokio::test]
async fn a_form_of_another_page_stores_nothing() {
    let place = Place::open();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let request =
            Request::post("/v1/definitions").header("host", "localhost:7837").header("content-type", kind);
        let answer = place.send(request.body(Body::from(order("1.0.0", "noop"))).unwrap()).await;
        let told = answer.refused(415, "unsupported_media_type");
        assert!(told["detail"].as_str().unwrap().contains("application/yaml"), "{told}");
    }
    for kind in ["text/yaml", "application/x-yaml", "application/yaml; charset=utf-8"] {
        let request =
            Request::post("/v1/definitions").header("host", "localhost:7837").header("content-type", kind);
        place.send(request.body(Body::from(order("1.0.0", "noop"))).unwrap()).await.ok();
    }
    place.close().await;
}

#[tokio::test]
async fn definitions_are_listed_shown_and_drawn() {
    let place = Place::open();
    for version in ["1.0.9", "1.0.10", "2.0.0"] {
        place.define(order(version, "noop")).await.ok();
    }
    place.define("workflow: bill\nversion: 1.0.0\nsteps:\n  - { key: a, action: noop }\n").await.ok();
    let named = |page: &Value| -> Vec<String> {
        let rows = page["definitions"].as_array().unwrap().iter();
        rows.map(|d| format!("{} {}", d["workflow"].as_str().unwrap(), d["version"].as_str().unwrap()))
            .collect()
    };
    let all = place.get("/v1/definitions").await.ok();
    assert_eq!(named(&all), ["bill 1.0.0", "order 2.0.0", "order 1.0.10", "order 1.0.9"]);
    assert_eq!((&all["definitions"][0]["created_by"], &all["next"]), (&json!("loopback"), &Value::Null));
    let first = place.get("/v1/definitions?workflow=order&limit=2").await.ok();
    assert_eq!((named(&first).len(), &first["next"]), (2, &json!("order 1.0.10")));
    let rest = place.get("/v1/definitions?workflow=order&limit=2&after=order%201.0.10").await.ok();
    assert_eq!((named(&rest), &rest["next"]), (vec!["order 1.0.9".to_string()], &Value::Null));

    let (mut listed, mut after) = (Vec::new(), String::new());
    loop {
        let page = place.get(&format!("/v1/definitions?limit=1{after}")).await.ok();
        listed.extend(named(&page));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={}", next.replace(' ', "%20"));
        // What is stored on the way does not move the page.
        place.define(order(&format!("3.0.{}", listed.len()), "noop")).await.ok();
    }
    assert_eq!(listed, ["bill 1.0.0", "order 3.0.1", "order 2.0.0", "order 1.0.10", "order 1.0.9"]);
    let gone = place.get("/v1/definitions?workflow=order&after=order%201.5.0").await.ok();
    assert_eq!(named(&gone), ["order 1.0.10", "order 1.0.9"], "also behind what is not there");
    for bad in ["order", "order%201.0", "order%201.0.x", "order%201.0.99999999999999999999"] {
        let told = place.get(&format!("/v1/definitions?after={bad}")).await.refused(400, "invalid_request");
        assert!(told["detail"].as_str().unwrap().contains("send what `next` said"), "{told}");
    }

    let newest = place.get("/v1/definitions/order/2.0.0").await.ok();
    assert_eq!((&newest["version"], &newest["live"]), (&json!("2.0.0"), &json!(0)));
    let shown = place.get("/v1/definitions/order/1.0.9").await.ok();
    assert_eq!(
        (&shown["version"], &shown["definition"]["steps"][0]["key"]),
        (&json!("1.0.9"), &json!("pay"))
    );
    place.get("/v1/definitions/nobody").await.refused(404, "not_found");
    place.get("/v1/definitions/order/9.9.9").await.refused(404, "not_found");

    let graph = "/v1/definitions/order/1.0.9/graph";
    let svg = place.get(graph).await;
    assert_eq!(svg.headers["content-type"], "image/svg+xml");
    assert!(svg.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none';"));
    assert!(svg.text().starts_with("<svg ") && svg.text().contains(">ship<"));
    assert!(place.get(&format!("{graph}?format=mermaid")).await.text().starts_with("flowchart LR"));
    assert!(place.get(&format!("{graph}?format=text")).await.text().contains("ship"));
    place.get(&format!("{graph}?format=png")).await.refused(400, "invalid_request");
    place.close().await;
}

#[tokio::test]
async fn a_new_version_says_what_it_would_break() {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
        })
        .await;
    place.define(order("1.0.0", "endless")).await.ok();
    let id = place.start("order", json!({})).await;
    place.until(&format!("/v1/workflows/{id}"), |w| w["steps"][0]["state"] == "running").await;
    let renamed = "workflow: order\nversion: 2.0.0\nsteps:\n  - { key: charge, action: noop }\n";
    let live = &place.define_with("?dry_run=true", renamed).await.ok()["live"];
    assert_eq!((&live[0]["version"], &live[0]["running"]), (&json!("1.0.0"), &json!(1)));
    let broken = live[0]["would_break"][0].as_str().unwrap();
    assert!(broken.contains("`pay`"), "{broken}");
    let same = order("2.0.0", "endless").replace("key: ship", "key: send");
    let live = &place.define(same).await.ok()["live"];
    assert_eq!(live[0]["would_break"], json!([]), "what is ahead may change");
    place.close().await;
}

#[tokio::test]
async fn a_key_with_a_scope_stores_and_starts_what_runs_there_alone() {
    let place = Place::open();
    let body = r#"{"name": "narrow", "role": "operator", "scope": ["priority"]}"#;
    let key = place.post("/v1/keys", body).await.ok()["key"].as_str().unwrap().to_string();
    let with_key = async |path: &str, kind: &str, text: String| {
        let request = Request::post(path).header("host", "localhost:7837").header("content-type", kind);
        let request = request.header("authorization", format!("Bearer {key}"));
        place.send(request.body(Body::from(text)).unwrap()).await
    };
    let inside = order("1.0.0", "noop").replace("action: noop", "action: noop, queue: priority");
    let outside = order("2.0.0", "noop");
    let nested = "workflow: outer\nversion: 1.0.0\nsteps:\n  - { key: sub, workflow: order }\n";
    with_key("/v1/definitions", "application/yaml", inside).await.ok();
    let refused =
        with_key("/v1/definitions", "application/yaml", outside.clone()).await.refused(403, "forbidden");
    assert_eq!(refused["faults"][0]["field"], "steps[0].queue");
    let refused =
        with_key("/v1/definitions", "application/yaml", nested.into()).await.refused(403, "forbidden");
    assert_eq!(refused["faults"][0]["field"], "steps[0].workflow");
    let start = |version: &str| json!({"workflow": "order", "version": version}).to_string();
    with_key("/v1/workflows", "application/json", start("1.0.0")).await.ok();
    place.define(outside).await.ok();
    with_key("/v1/workflows", "application/json", start("2.0.0")).await.refused(404, "not_found");
    let newest = json!({"workflow": "order"}).to_string();
    with_key("/v1/workflows", "application/json", newest).await.refused(404, "not_found");
    place.close().await;
}
