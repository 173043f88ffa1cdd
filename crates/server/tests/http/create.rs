use crate::place::Place;
use axum::body::Body;
use axum::http::Request;

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

/// Nothing is unpacked, so nothing grows: what is packed is no JSON.
#[tokio::test]
async fn s32a_a_packed_body_is_not_unpacked() {
    let place = Place::open();
    // What gzip makes of a list with one step.
    let packed: [u8; 49] = [
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56, 0x2a, 0x2e, 0x49, 0x2d, 0x28,
        0x56, 0xb2, 0x52, 0x88, 0xae, 0x56, 0x4a, 0x4c, 0x2e, 0xc9, 0xcc, 0xcf, 0x03, 0xb2, 0x95, 0xf2, 0xf2,
        0xf3, 0x0b, 0x94, 0x6a, 0x63, 0x6b, 0x01, 0x6d, 0xf6, 0xdc, 0x05, 0x1f, 0x00, 0x00, 0x00,
    ];
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let request = Request::post("/v1/steps")
            .header("host", "localhost:7837")
            .header("content-type", "application/json")
            .header("content-encoding", coding);
        place.send(request.body(Body::from(packed.to_vec())).unwrap()).await.refused(400, "malformed_json");
    }
    assert_eq!(place.get("/v1/steps").await.ok()["steps"], serde_json::json!([]));
    place.close().await;
}
