use crate::place::Place;

#[tokio::test]
async fn steps_are_created_and_named() {
    let place = Place::open();
    let answer =
        place.post("/v1/steps", r#"{"steps": [{"action": "noop", "children": [{"action": "echo"}]}]}"#).await;
    assert_eq!(answer.status, 201);
    let created = answer.json();
    assert_eq!(created["steps"].as_array().unwrap().len(), 1);
    assert_eq!(created["steps"][0]["state"], "pending");
    assert_eq!(created["steps"][0]["dispatch_group"], "alpha");
    place.close().await;
}

#[tokio::test]
async fn every_fault_is_told_with_its_field_and_nothing_is_stored() {
    let place = Place::open();
    let answer = place.post(
        "/v1/steps",
        r#"{"steps": [{"action": "noop"}, {"action": ""}, {"action": "a", "dispatch_group": "omega"}]}"#,
    );
    let problem = answer.await.refused(422, "invalid_request");
    let fields: Vec<&str> =
        problem["faults"].as_array().unwrap().iter().map(|f| f["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["steps[1].action", "steps[2].dispatch_group"], "{problem}");
    assert_eq!(place.get("/v1/steps").await.ok()["steps"].as_array().unwrap().len(), 0);
    place.close().await;
}

#[tokio::test]
async fn malformed_json_is_told_with_line_and_column() {
    let place = Place::open();
    let problem = place
        .post("/v1/steps", "{\"steps\": [\n  {\"action\" \"noop\"}]}")
        .await
        .refused(400, "malformed_json");
    assert!(problem["detail"].as_str().unwrap().contains("line 2 column 13"), "{problem}");
    place.post("/v1/steps", "").await.refused(400, "malformed_json");
    place
        .post("/v1/steps", &b"{\"steps\": [{\"action\": \"\xff\"}]}"[..])
        .await
        .refused(400, "malformed_json");
    place.close().await;
}

#[tokio::test]
async fn an_unknown_field_is_named() {
    let place = Place::open();
    let problem = place
        .post("/v1/steps", r#"{"steps": [{"action": "noop", "acton": 1}]}"#)
        .await
        .refused(422, "invalid_request");
    assert!(problem["faults"][0]["problem"].as_str().unwrap().contains("unknown field `acton`"), "{problem}");
    let problem = place.post("/v1/steps", r#"{"step": []}"#).await.refused(422, "invalid_request");
    assert!(problem["faults"][0]["problem"].as_str().unwrap().contains("unknown field `step`"), "{problem}");
    place.close().await;
}

#[tokio::test]
async fn an_oversized_body_is_refused() {
    let place = Place::open();
    let body = format!(r#"{{"steps": [{{"action": "noop", "label": "{}"}}]}}"#, "x".repeat(16 << 20));
    place.post("/v1/steps", body).await.refused(413, "too_large");
    place.close().await;
}

#[tokio::test]
async fn a_payload_over_its_limit_is_a_fault() {
    let place = Place::open();
    let body = format!(r#"{{"steps": [{{"action": "noop", "arguments": "{}"}}]}}"#, "x".repeat(2 << 20));
    let problem = place.post("/v1/steps", body).await.refused(422, "invalid_request");
    assert_eq!(problem["faults"][0]["field"], "steps[0].arguments");
    place.close().await;
}

#[tokio::test]
async fn an_engine_that_stops_is_unavailable() {
    let place = Place::open();
    place.engine.stop().await.unwrap();
    let answer = place.post("/v1/steps", r#"{"steps": [{"action": "noop"}]}"#).await;
    answer.refused(503, "unavailable");
    assert_eq!(answer.headers["retry-after"], "1");
}
