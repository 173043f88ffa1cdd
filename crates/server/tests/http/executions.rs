use crate::place::{Answer, Place, ask, peer};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

async fn post(place: &Place, verb: &str, body: Value) -> Answer {
    place.post(&format!("/v1/executions/{verb}"), body.to_string()).await
}

fn ended(begun: &Value, more: Value) -> Value {
    let mut body = json!({"namespace": "payments.credit", "key": "a/7", "owner": begun["owner"]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

#[tokio::test]
async fn an_execution_from_its_beginning_to_its_replay() {
    let place = Place::open();
    let ask = json!({"namespace": "payments.credit", "key": "a/7", "input": {"amount": 1, "to": "x"}});
    let begun = post(&place, "begin", ask.clone()).await.ok();
    assert_eq!((&begun["verdict"], &begun["attempt"]), (&"begun".into(), &1.into()));
    let waits = post(&place, "begin", ask.clone()).await;
    waits.refused(409, "in_progress");
    let seconds: u64 = waits.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    let renewed = post(&place, "renew", ended(&begun, json!({"lease_seconds": 600}))).await.ok();
    assert!(renewed["lease_ends_at"].as_str() > begun["lease_ends_at"].as_str(), "{renewed}");
    let failed = post(&place, "fail", ended(&begun, json!({"error": "declined"}))).await;
    assert_eq!(failed.status.as_u16(), 204);
    let second = post(&place, "begin", ask.clone()).await.ok();
    assert_eq!(second["attempt"], 2);
    let late = post(&place, "complete", ended(&begun, json!({"answer": 1}))).await;
    late.refused(409, "lease_lost");
    let body =
        r#"{"namespace": "payments.credit", "key": "a/7", "owner": OWNER, "answer": {"b": 1.50, "a": 2}}"#;
    let body = body.replace("OWNER", &second["owner"].to_string());
    assert_eq!(place.post("/v1/executions/complete", body.clone()).await.status.as_u16(), 204);
    assert_eq!(place.post("/v1/executions/complete", body).await.status.as_u16(), 204, "said again");
    let replay = post(&place, "begin", ask).await;
    assert!(replay.text().contains(r#""answer":{"b": 1.50, "a": 2}"#), "to the letter: {}", replay.text());
    let other = json!({"namespace": "payments.credit", "key": "a/7", "input": {"amount": 2}});
    post(&place, "begin", other).await.refused(422, "key_conflict");
    let shown = place.get("/v1/executions/payments.credit/a%2F7").await.ok();
    let events: Vec<&str> =
        shown["history"].as_array().unwrap().iter().map(|m| m["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["begun", "failed", "begun", "done"]);
    assert_eq!(shown["history"][1]["error"], "declined");
    assert_eq!((&shown["execution"]["state"], &shown["answer"]["a"]), (&"done".into(), &2.into()));
    assert!(!shown.to_string().contains(second["owner"].as_str().unwrap()), "an owner is not given away");
    place.get("/v1/executions/payments.credit/8").await.refused(404, "not_found");
    place.close().await;
}

#[tokio::test]
async fn what_is_given_up_and_what_is_wrong_is_told_by_its_code() {
    let place = Place::open();
    let ask = json!({"namespace": "pay", "key": "7", "max_attempts": 1});
    let begun = post(&place, "begin", ask.clone()).await.ok();
    let body = json!({"namespace": "pay", "key": "7", "owner": begun["owner"], "error": "declined"});
    post(&place, "fail", body.clone()).await;
    let told = post(&place, "begin", ask).await.refused(409, "given_up");
    assert!(told["detail"].as_str().unwrap().ends_with("declined"), "{told}");
    let ended = json!({"namespace": "pay", "key": "7", "owner": begun["owner"], "answer": 1});
    post(&place, "complete", ended).await.refused(409, "already_ended");
    let nobody = json!({"namespace": "pay", "key": "8", "owner": begun["owner"]});
    post(&place, "complete", nobody).await.refused(404, "not_found");
    let told = post(&place, "begin", json!({"namespace": "", "key": "7", "lease_seconds": 0})).await;
    let faults = told.refused(422, "invalid_request")["faults"].clone();
    assert_eq!((&faults[0]["field"], &faults[1]["field"]), (&"namespace".into(), &"lease".into()));
    let own = json!({"namespace": "http POST /v1/steps", "key": "7"});
    post(&place, "begin", own).await.refused(422, "invalid_request");
    post(&place, "renew", json!({"namespace": "pay", "key": "7", "owner": "me"}))
        .await
        .refused(422, "invalid_request");
    place.close().await;
}

#[tokio::test]
async fn executions_are_listed_page_by_page_and_forgotten() {
    let place = Place::open();
    for key in ["a", "b", "c"] {
        let begun = post(&place, "begin", json!({"namespace": "pay", "key": key})).await.ok();
        let body = json!({"namespace": "pay", "key": key, "owner": begun["owner"]});
        post(&place, "complete", body).await;
    }
    let keys = |page: &Value| -> Vec<String> {
        let all = page["executions"].as_array().unwrap().iter();
        all.map(|e| e["key"].as_str().unwrap().to_string()).collect()
    };
    let first = place.get("/v1/executions?namespace=pay&state=done&limit=2").await.ok();
    assert_eq!(keys(&first), ["c", "b"]);
    let after = first["next"].as_str().unwrap();
    let second = place.get(&format!("/v1/executions?namespace=pay&limit=2&after={after}")).await.ok();
    assert_eq!((keys(&second), second.get("next")), (vec!["a".to_string()], None));
    place.get("/v1/executions?after=zz").await.refused(400, "invalid_request");
    place.get("/v1/executions?state=perhaps").await.refused(400, "invalid_request");
    let kept = post(&place, "forget", json!({"why": "x"})).await.ok();
    assert_eq!(kept["executions"], 0, "they are kept for 90 days");
    let would = place.post("/v1/executions/forget?dry_run=true", r#"{"older_than_days": 0}"#).await.ok();
    assert_eq!(would["executions"], 3);
    let done = post(&place, "forget", json!({"older_than_days": 0, "why": "x"})).await.ok();
    assert_eq!((&done["executions"], &done["more"]), (&3.into(), &false.into()));
    assert_eq!(keys(&place.get("/v1/executions").await.ok()), [] as [&str; 0]);
    place.close().await;
}

async fn keyed(place: &Place, path: &str, key: &str, body: &str) -> Answer {
    let request = Request::post(path)
        .header("host", "localhost:7837")
        .header("content-type", "application/json")
        .header("idempotency-key", key);
    place.send(request.body(Body::from(body.to_string())).unwrap()).await
}

#[tokio::test]
async fn a_post_with_a_key_is_done_once_and_answered_again() {
    let place = Place::open();
    let body = r#"{"steps": [{"action": "ghost"}]}"#;
    let first = keyed(&place, "/v1/steps", "k1", body).await;
    assert_eq!(first.status.as_u16(), 201, "{}", first.text());
    assert!(!first.headers.contains_key("idempotency-replayed"));
    let again = keyed(&place, "/v1/steps", "k1", body).await;
    assert_eq!((again.status, &again.bytes), (first.status, &first.bytes));
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.headers["content-type"], first.headers["content-type"]);
    keyed(&place, "/v1/steps", "k1", r#"{"steps": [{"action": "other"}]}"#)
        .await
        .refused(422, "key_conflict");
    assert_eq!(place.get("/v1/steps").await.ok()["steps"].as_array().unwrap().len(), 1);
    // The same key is another one on another route, and a refusal is an answer too.
    let id = first.json()["steps"][0]["id"].as_str().unwrap().to_string();
    let cancel = format!("/v1/steps/{id}/cancel");
    let moved = keyed(&place, &cancel, "k1", r#"{"why": "x"}"#).await;
    assert_eq!(moved.ok()["to"], "cancelled");
    assert_eq!(keyed(&place, &cancel, "k1", r#"{"why": "x"}"#).await.bytes, moved.bytes);
    place.post(&cancel, r#"{"why": "x"}"#).await.refused(409, "refused");
    let pool = r#"{"name": "card", "concurrency": 2}"#;
    let made = keyed(&place, "/v1/pools", "k1", pool).await;
    made.ok();
    let again = keyed(&place, "/v1/pools", "k1", pool).await;
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.headers["etag"], made.headers["etag"], "to be changed with it");
    let bad = keyed(&place, "/v1/steps", "k2", r#"{"steps": [{"action": ""}]}"#).await;
    bad.refused(422, "invalid_request");
    let again = keyed(&place, "/v1/steps", "k2", r#"{"steps": [{"action": ""}]}"#).await;
    again.refused(422, "invalid_request");
    assert_eq!(again.headers["idempotency-replayed"], "true");
    place.close().await;
}

#[tokio::test]
async fn a_request_under_way_is_not_begun_again_and_a_broken_one_is() {
    let place = Place::open();
    let ask = engine::Ask::new("http POST /v1/steps", "k1").input_text(b"/v1/steps\n{}");
    let engine::Begin::Run(begun) = place.engine.executions().begin(&ask).await.unwrap() else { panic!() };
    let waits = keyed(&place, "/v1/steps", "k1", "{}").await;
    waits.refused(409, "in_progress");
    assert!(waits.headers.contains_key("retry-after"));
    place.engine.executions().fail(&begun.held, "answered 503".into()).await.unwrap();
    let run = keyed(&place, "/v1/steps", "k1", "{}").await;
    assert!(!run.headers.contains_key("idempotency-replayed"), "what failed on our side is tried again");
    let long = "k".repeat(256);
    keyed(&place, "/v1/steps", &long, "{}").await.refused(422, "invalid_request");
    let request = Request::get("/v1/steps").header("host", "localhost:7837").header("idempotency-key", "k1");
    assert!(
        place.send(request.body(Body::empty()).unwrap()).await.status.is_success(),
        "reading needs no key"
    );
    place.close().await;
}

/// What a caller was answered may be more than whoever looks at executions may see.
#[tokio::test]
async fn what_was_answered_under_a_key_is_shown_to_nobody_else() {
    let place = Place::open();
    keyed(&place, "/v1/steps", "k", r#"{"steps": [{"action": "noop", "label": "hush"}]}"#).await.ok();
    let listed = place.get("/v1/executions").await.ok();
    let namespace =
        listed["executions"][0]["namespace"].as_str().unwrap().replace(' ', "%20").replace('/', "%2F");
    let shown = place.get(&format!("/v1/executions/{namespace}/k")).await.ok();
    assert_eq!(shown["execution"]["state"], "done");
    assert!(shown["answer"].is_null(), "{shown}");
    place.close().await;
}

/// Of many at once one is done; the others get its answer, or are told that it is under way. A key is its caller's alone.
#[tokio::test(flavor = "multi_thread")]
async fn s26b_of_64_equal_calls_one_starts_a_workflow_and_another_caller_starts_another() {
    let place = Place::open();
    place.define("workflow: held\nversion: 1.0.0\nsteps:\n  - { key: a, action: ghost }\n").await.ok();
    let (anna, _) = place.key("operator").await;
    let (ben, _) = place.key("operator").await;
    let call = |key: &str| {
        let request = Request::post("/v1/workflows")
            .header("host", "steps.example")
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {key}"))
            .header("idempotency-key", "order-7")
            .extension(peer("203.0.113.9:40000"));
        let (router, body) = (place.router.clone(), Body::from(r#"{"workflow": "held"}"#));
        async move { ask(&router, request.body(body).unwrap()).await }
    };
    let calls: Vec<_> = (0..64).map(|_| tokio::spawn(call(&anna))).collect();
    let mut answers = Vec::new();
    for one in calls {
        let answer = one.await.unwrap();
        match answer.status.as_u16() {
            201 => answers.push(answer.bytes.clone()),
            _ => {
                answer.refused(409, "in_progress");
                assert!(answer.headers.contains_key("retry-after"));
            }
        }
    }
    println!("{} of 64 were answered at once", answers.len());
    assert!(!answers.is_empty() && answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(call(&anna).await.bytes, answers[0], "and later too");
    let other = call(&ben).await;
    assert_eq!(other.status.as_u16(), 201, "{}", other.text());
    assert_ne!(other.bytes, answers[0], "what another was answered is not told");
    assert_eq!(place.get("/v1/workflows").await.ok()["workflows"].as_array().unwrap().len(), 2);
    place.close().await;
}

#[tokio::test]
async fn a_person_finds_one_by_its_key() {
    let place = Place::open();
    let body = json!({"namespace": "pay/ments", "key": "ü 7", "input": 1});
    place.post("/v1/executions/begin", body.to_string()).await.ok();
    let found = place.get("/executions?namespace=pay%2Fments&key=%C3%BC+7").await;
    assert_eq!(found.status, 303);
    let address = found.headers["location"].to_str().unwrap().to_string();
    assert_eq!(address, "/executions/pay%2Fments/%C3%BC%207");
    assert!(place.get(&address).await.text().contains("ü 7"));
    let hint = place.get("/executions?key=7&state=failed").await;
    assert!(hint.text().contains("write its namespace too"), "{}", hint.text());
    place.get("/executions/pay%2Fments/8").await.refused(404, "not_found");
    place.close().await;
}
