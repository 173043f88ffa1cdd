use crate::place::{Place, endless};

#[tokio::test]
async fn a_breaker_that_is_off_holds_work_back_until_it_is_on() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    assert_eq!(place.get("/v1/drain").await.ok()["safe"], false);
    let off = place
        .post("/v1/breaker", r#"{"off": true, "why": "deploy", "by": "anna", "ttl_seconds": 600}"#)
        .await
        .ok();
    assert_eq!(
        (&off["off"], &off["can_dispatch_steps"], &off["by"]),
        (&true.into(), &false.into(), &"anna".into())
    );
    assert!(off["until"].is_string());
    let made = place.create(r#"[{"action": "noop"}]"#).await;
    let shown = place.get("/v1/breaker").await.ok();
    assert_eq!(
        (&shown["can_dispatch_steps"], &shown["everywhere"]["why"]),
        (&false.into(), &"deploy".into())
    );
    let drain = place.get("/v1/drain").await.ok();
    assert_eq!((&drain["safe"], &drain["in_flight"]), (&true.into(), &0.into()));
    assert_eq!(place.step(&made[0]).await["state"], "pending");
    assert_eq!(place.get("/step-dispatcher/api").await.ok()["safe_to_restart"], true);
    place.post("/v1/breaker", r#"{"off": false, "by": "anna"}"#).await.ok();
    place.until_state(&made[0], "completed").await;
    let audit = place.get("/v1/audit").await.ok();
    assert_eq!(
        (&audit["audit"][1]["verb"], &audit["audit"][1]["why"]),
        (&"breaker off".into(), &"deploy".into())
    );
    place.close().await;
}

#[tokio::test]
async fn one_dispatch_group_has_its_own_breaker() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let off =
        place.post("/v1/breaker", r#"{"off": true, "why": "deploy", "dispatch_group": "beta"}"#).await.ok();
    assert_eq!(off["dispatch_group"], "beta");
    let made = place
        .create(r#"[{"action": "noop", "dispatch_group": "beta"}, {"action": "noop", "dispatch_group": "alpha"}]"#)
        .await;
    place.until_state(&made[1], "completed").await;
    assert_eq!(place.step(&made[0]).await["state"], "pending");
    let shown = place.get("/v1/breaker").await.ok();
    assert_eq!((&shown["can_dispatch_steps"], &shown["groups"][1]["off"]), (&true.into(), &true.into()));
    assert_eq!(place.get("/v1/drain?dispatch_group=beta").await.ok()["safe"], true);
    assert_eq!(place.get("/v1/drain?dispatch_group=alpha").await.ok()["safe"], false);
    let figures = place.get("/step-dispatcher/api").await.ok();
    assert_eq!(figures["dispatch_groups"][1]["can_dispatch_steps"], false);
    place.close().await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let place = Place::open();
    let fault = async |body: &'static str| {
        let problem = place.post("/v1/breaker", body).await.refused(422, "invalid_request");
        problem["faults"][0]["field"].as_str().unwrap().to_string()
    };
    assert_eq!(fault(r#"{"off": true, "why": "deploy", "dispatch_group": "omega"}"#).await, "dispatch_group");
    assert_eq!(fault(r#"{"off": false, "ttl_seconds": 5}"#).await, "ttl_seconds");
    assert_eq!(fault(r#"{"off": true, "ttl_seconds": 0}"#).await, "ttl_seconds");
    assert_eq!(fault(r#"{"off": true, "ttl_seconds": 99999999999}"#).await, "ttl_seconds");
    assert_eq!(fault(r#"{"why": "deploy"}"#).await, "body");
    place.get("/v1/drain?dispatch_group=omega").await.refused(422, "invalid_request");
    assert_eq!(place.get("/v1/breaker").await.ok()["can_dispatch_steps"], true);
    place.close().await;
}

#[tokio::test]
async fn the_page_switches_and_is_on_record() {
    let place = Place::open();
    let toggle = async |body: &'static str| place.post("/step-dispatcher/toggle", body).await;
    assert_eq!(toggle(r#"{"enabled": false}"#).await.text(), r#"{"can_dispatch_steps":false}"#);
    assert_eq!(place.get("/step-dispatcher/api").await.ok()["can_dispatch_steps"], false);
    assert_eq!(toggle(r#"{"enabled": true}"#).await.text(), r#"{"can_dispatch_steps":true}"#);
    assert_eq!(
        place.get("/v1/audit").await.ok()["audit"][1]["why"],
        serde_json::Value::Null,
        "none was said"
    );
    toggle(r#"{"enabled": 1}"#).await.refused(422, "invalid_request");
    toggle(r#"{"enabled": "false"}"#).await.refused(422, "invalid_request");
    toggle("{}").await.refused(422, "invalid_request");
    assert_eq!(place.get("/step-dispatcher/api").await.ok()["can_dispatch_steps"], true);
    let audit = place.get("/v1/audit").await.ok();
    assert_eq!(audit["audit"].as_array().unwrap().len(), 2);
    assert_eq!(audit["audit"][0]["who"], "dashboard");
    place.close().await;
}

#[tokio::test]
async fn a_step_in_flight_is_waited_for_and_a_parent_that_waits_is_not() {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
        })
        .await;
    let made = place.create(r#"[{"action": "noop", "children": [{"action": "endless"}]}]"#).await;
    place.until_state(&made[0], "running").await;
    // The parent was in flight first; it is the child that is waited for.
    place.until("/step-dispatcher/api", |figures| figures["global"]["child_running"] == 1).await;
    place.post("/v1/breaker", r#"{"off": true, "why": "deploy"}"#).await.ok();
    let drain = place.until("/v1/drain", |drain| drain["in_flight"] == 1).await;
    assert_eq!(drain["safe"], false);
    let figures = place.get("/step-dispatcher/api").await.ok();
    assert_eq!((&figures["global"]["running"], &figures["global"]["child_running"]), (&2.into(), &1.into()));
    assert_eq!(figures["words"]["restart"], "Draining: 1 step in flight");
    place.close().await;
}
