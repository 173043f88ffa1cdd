use crate::place::{Answer, Place};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

async fn post(place: &Place, path: &str, body: Value) -> Answer {
    place.post(path, body.to_string()).await
}

fn payment(id: &str) -> Value {
    json!({"type": "payment_processing", "entity_type": "payment", "entity_id": id, "user": "ann",
           "steps": ["debited", "credited", {"name": "mailed", "optional": true}]})
}

async fn start(place: &Place, body: Value) -> String {
    let answer = post(place, "/v1/flows", body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["flow"]["id"].as_str().unwrap().into()
}

async fn mark(place: &Place, id: &str, step: &str, verb: &str, body: Value) -> Answer {
    post(place, &format!("/v1/flows/{id}/steps/{step}/{verb}"), body).await
}

#[tokio::test]
async fn a_flow_is_started_told_of_and_finished() {
    let place = Place::open();
    let id = start(&place, payment("123")).await;
    let now = mark(&place, &id, "debited", "complete", json!({})).await.ok();
    assert_eq!(
        (&now["flow"]["state"], &now["percent"], &now["changed"]),
        (&json!("running"), &json!(50.0), &json!(true))
    );
    assert_eq!(now["sentence"], "1 of 2 steps is done; next: credited.");
    let again = mark(&place, &id, "debited", "complete", json!({})).await.ok();
    assert_eq!((&again["changed"], &again["flow"]["revision"]), (&json!(false), &now["flow"]["revision"]));
    let failed = mark(&place, &id, "credited", "fail", json!({"message": "the bank is away"})).await.ok();
    assert_eq!(
        (&failed["flow"]["state"], &failed["flow"]["error"]),
        (&json!("failed"), &json!("the bank is away"))
    );
    assert_eq!(failed["sentence"], "It could not go on at credited; 1 of 2 steps is done.");
    let state = format!("/v1/flows/{id}/state");
    let runs = post(&place, &state, json!({"state": "running", "message": "We try again"})).await.ok();
    assert_eq!(
        (&runs["flow"]["state"], &runs["flow"]["previous_state"]),
        (&json!("running"), &json!("failed"))
    );
    assert_eq!((&runs["steps"][1]["state"], &runs["sentence"]), (&json!("pending"), &json!("We try again")));
    mark(&place, &id, "credited", "complete", json!({})).await.ok();
    let skipped = mark(&place, &id, "mailed", "skip", json!({"message": "no address"})).await.ok();
    assert_eq!((&skipped["flow"]["state"], &skipped["percent"]), (&json!("completed"), &json!(100.0)));
    let shown = place.get(&format!("/v1/flows/{id}")).await.ok();
    assert_eq!(shown["flow"], skipped["flow"]);
    let events: Vec<&str> =
        shown["history"].as_array().unwrap().iter().map(|e| e["event"].as_str().unwrap()).collect();
    let told =
        ["started", "step_completed", "step_failed", "state_updated", "step_completed", "step_skipped"];
    assert_eq!(events, told);
    assert_eq!(shown["history"][2]["message"], "the bank is away");
    place.close().await;
}

#[tokio::test]
async fn a_second_start_is_the_same_run_unless_another_is_asked_for() {
    let place = Place::open();
    let id = start(&place, payment("1")).await;
    let again = post(&place, "/v1/flows", payment("1")).await;
    assert_eq!((again.status.as_u16(), &again.json()["flow"]["id"]), (200, &json!(id)));
    let mut anew = payment("1");
    anew["again"] = json!("new");
    let second = start(&place, anew.clone()).await;
    assert_ne!(second, id);
    assert_eq!(place.get(&format!("/v1/flows/{id}")).await.ok()["flow"]["state"], "superseded");
    anew["again"] = json!("maybe");
    let refused = post(&place, "/v1/flows", anew).await.refused(422, "invalid_request");
    assert_eq!(refused["faults"][0]["field"], "again");
    let finish = format!("/v1/flows/{second}/finish");
    post(&place, &finish, json!({"state": "failed", "message": "gone"})).await.ok();
    let third = post(&place, "/v1/flows", payment("1")).await.ok();
    assert_eq!(third["flow"]["id"], json!(second), "what failed is not over");
    post(&place, &finish, json!({"state": "cancelled"})).await.ok();
    assert_eq!(post(&place, "/v1/flows", payment("1")).await.ok()["flow"]["run"], 3);
    place.close().await;
}

#[tokio::test]
async fn what_cannot_be_is_refused_in_words() {
    let place = Place::open();
    let id = start(&place, payment("1")).await;
    let unknown = mark(&place, &id, "refunded", "complete", json!({})).await.refused(409, "unknown_step");
    let told = unknown["detail"].as_str().unwrap();
    assert!(told.ends_with("it has no step `refunded`; it has `debited`, `credited`, `mailed`"), "{told}");
    mark(&place, &id, "debited", "explode", json!({})).await.refused(404, "not_found");
    mark(&place, &id, "debited", "complete", json!({"percent": 100})).await.refused(422, "invalid_request");
    let long = json!({"message": "x".repeat(4_097)});
    let too_long = mark(&place, &id, "debited", "complete", long).await.refused(422, "invalid_request");
    assert_eq!(too_long["faults"][0]["field"], "message");
    let finish = format!("/v1/flows/{id}/finish");
    let missing = post(&place, &finish, json!({})).await.refused(409, "refused");
    assert!(missing["detail"].as_str().unwrap().contains("`debited`, `credited` are not done"), "{missing}");
    post(&place, &finish, json!({"state": "running"})).await.refused(422, "invalid_request");
    post(&place, &finish, json!({"state": "perhaps"})).await.refused(422, "invalid_request");
    let state = format!("/v1/flows/{id}/state");
    post(&place, &state, json!({"state": "completed"})).await.refused(409, "refused");
    post(&place, &state, json!({})).await.refused(422, "invalid_request");
    post(&place, &finish, json!({"state": "cancelled"})).await.ok();
    let over = mark(&place, &id, "debited", "complete", json!({})).await.refused(409, "refused");
    assert!(over["detail"].as_str().unwrap().contains("it was cancelled"), "{over}");
    let nobody = "00000000-0000-0000-0000-000000000001";
    mark(&place, nobody, "debited", "complete", json!({})).await.refused(404, "not_found");
    place.get(&format!("/v1/flows/{nobody}")).await.refused(404, "not_found");
    place.get("/v1/flows/seven").await.refused(400, "invalid_request");
    place.close().await;
}

#[tokio::test]
async fn a_start_that_is_too_much_or_too_little_says_everything_that_is_wrong() {
    let place = Place::open();
    let steps: Vec<String> = (0..201).map(|n| format!("s{n}")).collect();
    let body = json!({"type": "", "steps": steps, "timeout_seconds": 0, "retry": {"action": ""},
                      "cancel": {"action": "a", "arguments": "x".repeat(65_536)}});
    let refused = post(&place, "/v1/flows", body).await.refused(422, "invalid_request");
    let fields: Vec<&str> =
        refused["faults"].as_array().unwrap().iter().map(|f| f["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["type", "key", "steps", "timeout_seconds", "retry.action", "cancel.arguments"]);
    let twice = json!({"type": "a", "key": "1", "steps": ["x", "x"]});
    let refused = post(&place, "/v1/flows", twice).await.refused(422, "invalid_request");
    assert_eq!(refused["faults"][0]["field"], "steps[1]");
    post(&place, "/v1/flows", json!({"type": "a", "key": "1", "stepz": []}))
        .await
        .refused(422, "invalid_request");
    place.close().await;
}

#[tokio::test]
async fn flows_are_listed_newest_first_by_what_they_are_about() {
    let place = Place::open();
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(start(&place, payment(&n.to_string())).await);
    }
    mark(&place, &ids[1], "debited", "fail", json!({})).await.ok();
    let listed = async |query: &str| -> Vec<Value> {
        place.get(&format!("/v1/flows?{query}")).await.ok()["flows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["id"].clone())
            .collect()
    };
    assert_eq!(listed("type=payment_processing").await, [json!(ids[2]), json!(ids[1]), json!(ids[0])]);
    assert_eq!(listed("state=failed").await, [json!(ids[1])]);
    assert_eq!(listed("entity_type=payment&entity_id=2&user=ann&live=true").await, [json!(ids[2])]);
    assert_eq!(listed("type=other").await, [] as [Value; 0]);
    let page = place.get("/v1/flows?limit=2").await.ok();
    let next = page["next"].as_str().unwrap();
    assert_eq!(listed(&format!("limit=2&after={next}")).await, [json!(ids[0])]);
    place.get("/v1/flows?state=perhaps").await.refused(400, "invalid_request");
    place.get("/v1/flows?after=x").await.refused(400, "invalid_request");
    place.get("/v1/flows?limit=0").await.refused(400, "invalid_request");
    place.close().await;
}

#[tokio::test]
async fn a_retry_is_a_step_and_a_key_with_a_scope_makes_none_elsewhere() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let mut body = payment("1");
    body["retry"] = json!({"action": "echo", "arguments": {"payment": 1}});
    let id = start(&place, body).await;
    let path = format!("/v1/flows/{id}/retry");
    let would = post(&place, &format!("{path}?dry_run=true"), json!({})).await.ok();
    assert!(would.get("step_id").is_none() && would["changed"] == false, "{would}");
    let asked = post(&place, &path, json!({"why": "the bank is back"})).await.ok();
    let step = asked["step_id"].as_str().unwrap().to_string();
    let shown = place.until(&format!("/v1/steps/{step}"), |shown| shown["state"] == "completed").await;
    assert_eq!((&shown["relatable_type"], &shown["relatable_id"]), (&json!("flow"), &json!(id)));
    assert_eq!(shown["response"], json!({"payment": 1}));
    post(&place, &format!("/v1/flows/{id}/explode"), json!({})).await.refused(404, "not_found");
    let made =
        post(&place, "/v1/keys", json!({"name": "mail", "role": "operator", "scope": ["mail"]})).await.ok();
    let key = made["key"].as_str().unwrap();
    let mut elsewhere = payment("3");
    elsewhere["cancel"] = json!({"action": "echo"});
    for (path, body, status, code) in
        [(path.as_str(), json!({}), 404, "not_found"), ("/v1/flows", elsewhere, 403, "forbidden")]
    {
        let request = Request::post(path)
            .header("host", "localhost:7837")
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {key}"));
        place.send(request.body(Body::from(body.to_string())).unwrap()).await.refused(status, code);
    }
    let plain = start(&place, payment("2")).await;
    post(&place, &format!("/v1/flows/{plain}/retry"), json!({})).await.refused(409, "refused");
    let over = post(&place, &format!("/v1/flows/{plain}/cancel"), json!({"why": "enough"})).await.ok();
    assert_eq!((&over["flow"]["state"], over.get("step_id")), (&json!("cancelled"), None));
    place.close().await;
}

#[tokio::test]
async fn a_worker_and_an_operator_may_tell_and_a_viewer_may_look() {
    let place = Place::open();
    let id = start(&place, payment("1")).await;
    for (role, step, status) in
        [("worker", "debited", 200), ("operator", "credited", 200), ("viewer", "mailed", 403)]
    {
        let (key, _) = place.key(role).await;
        let request = Request::post(format!("/v1/flows/{id}/steps/{step}/complete"))
            .header("host", "localhost:7837")
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {key}"));
        let answer = place.send(request.body(Body::from(r#"{"by": "somebody else"}"#)).unwrap()).await;
        assert_eq!(answer.status, status, "{role}: {}", answer.text());
    }
    let shown = place.get(&format!("/v1/flows/{id}")).await.ok();
    let by: Vec<&str> =
        shown["history"].as_array().unwrap().iter().map(|e| e["by"].as_str().unwrap()).collect();
    assert!(by[1].contains("the worker") && by[2].contains("the operator"), "the key signs: {by:?}");
    place.close().await;
}

#[tokio::test]
async fn the_pages_show_them_and_never_as_markup() {
    let place = Place::open();
    let mut body = payment("<b>1</b>");
    body["message"] = json!("<i>Payment received</i>");
    body["retry"] = json!({"action": "echo"});
    let id = start(&place, body).await;
    mark(&place, &id, "debited", "complete", json!({"message": "<u>done</u>"})).await.ok();
    let list = place.get("/flows").await;
    let page = place.get(&format!("/flows/{id}")).await;
    let half = place.get("/progress").await;
    for answer in [&list, &page, &half] {
        let text = answer.text();
        assert_eq!(answer.status, 200, "{text}");
        assert!(text.contains("payment_processing") && text.contains("&lt;b&gt;1&lt;/b&gt;"), "{text}");
        assert!(
            !text.contains("<i>Pay") && !text.contains("<u>done") && !text.contains("<b>1</b>"),
            "{text}"
        );
    }
    let text = page.text();
    assert!(
        text.contains("50 %") && text.contains("Payment received") && text.contains("data-verb=\"retry\""),
        "{text}"
    );
    assert!(text.contains("step completed") && text.contains("credited"), "{text}");
    assert!(half.text().contains(&format!("/flows/{id}")), "{}", half.text());
    place.get("/flows?state=failed").await;
    assert!(place.get("/flows?state=failed").await.text().contains("No flow is like that."));
    place.get("/flows/00000000-0000-0000-0000-000000000001").await.refused(404, "not_found");
    place.close().await;
}
