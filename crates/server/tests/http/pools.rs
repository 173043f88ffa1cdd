use crate::place::Place;

#[tokio::test]
async fn a_pool_is_set_used_told_and_removed() {
    let mut place = Place::open();
    let set = place.post("/v1/pools", r#"{"name": "card", "concurrency": 0, "by": "anna"}"#).await.ok();
    assert_eq!((&set["name"], &set["concurrency"], &set["used"]), (&"card".into(), &0.into(), &0.into()));
    place.work(|_| {}).await;
    let made = place.create(r#"[{"action": "noop", "pool": "card"}, {"action": "noop"}]"#).await;
    place.until_state(&made[1], "completed").await;
    let shown = place.get(&format!("/v1/steps/{}", made[0])).await.ok();
    assert_eq!((&shown["state"], &shown["pool"]), (&"pending".into(), &"card".into()));
    assert_eq!(shown["why"][0], "its pool `card` is full: 0 of 0 run");
    place.post("/v1/pools/card/remove", r#"{"why": "x"}"#).await.refused(409, "refused");
    place.post("/v1/pools", r#"{"name": "card", "rate": "100/s", "burst": 3}"#).await.ok();
    place.until_state(&made[0], "completed").await;
    let pools = place.get("/v1/pools").await.ok();
    assert_eq!((&pools["pools"][0]["rate"], &pools["pools"][0]["burst"]), (&"100/s".into(), &3.into()));
    assert_eq!(pools["pools"][0]["concurrency"], serde_json::Value::Null);
    place.post("/v1/pools/card/remove", r#"{"by": "anna", "why": "sold"}"#).await.ok();
    place.post("/v1/pools/card/remove", r#"{"why": "x"}"#).await.refused(404, "not_found");
    let audit = place.get("/v1/audit").await.ok();
    assert_eq!(
        (&audit["audit"][0]["verb"], &audit["audit"][0]["who"]),
        (&"remove pool".into(), &"anna".into())
    );
    assert_eq!(audit["audit"][0]["before"], "100/s with bursts of 3");
    place.close().await;
}

#[tokio::test]
async fn what_is_no_limit_is_refused() {
    let place = Place::open();
    let fault = async |body: &'static str| {
        let problem = place.post("/v1/pools", body).await.refused(422, "invalid_request");
        problem["faults"][0]["field"].as_str().unwrap().to_string()
    };
    assert_eq!(fault(r#"{"name": "card"}"#).await, "concurrency");
    assert_eq!(fault(r#"{"name": "", "concurrency": 1}"#).await, "name");
    assert_eq!(fault(r#"{"name": "card", "concurrency": 10001}"#).await, "concurrency");
    assert_eq!(fault(r#"{"name": "card", "rate": "often"}"#).await, "rate");
    assert_eq!(fault(r#"{"name": "card", "rate": "1000001/s"}"#).await, "rate");
    assert_eq!(fault(r#"{"name": "card", "rate": "1/s", "burst": 0}"#).await, "burst");
    assert_eq!(fault(r#"{"name": "card", "concurrency": 1, "burst": 2}"#).await, "burst");
    assert_eq!(fault(r#"{"nam": "card"}"#).await, "body");
    let refused = place.post("/v1/steps", r#"{"steps": [{"action": "a", "pool": "card"}]}"#).await;
    assert_eq!(refused.refused(422, "invalid_request")["faults"][0]["field"], "steps[0].pool");
    assert_eq!(place.get("/v1/pools").await.ok()["pools"], serde_json::json!([]));
    place.close().await;
}
