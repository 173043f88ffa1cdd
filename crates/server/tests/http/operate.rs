use crate::place::Place;

#[tokio::test]
async fn a_person_moves_a_step_and_it_is_on_record() {
    let place = Place::open();
    let made = place.create(r#"[{"action": "ghost", "children": [{"action": "ghost"}]}]"#).await;
    let path = format!("/v1/steps/{}/cancel", made[0]);
    let done = place.post(&path, r#"{"why": "customer left", "by": "anna"}"#).await.ok();
    assert_eq!((&done["from"], &done["to"]), (&"pending".into(), &"cancelled".into()));
    assert_eq!(place.step(&made[0]).await["note"], "customer left");
    let audit = place.get("/v1/audit").await.ok();
    let entry = &audit["audit"][0];
    assert_eq!(
        (&entry["who"], &entry["verb"], &entry["why"]),
        (&"anna".into(), &"cancel".into(), &"customer left".into())
    );
    place.until("/v1/steps?state=cancelled", |page| page["steps"].as_array().unwrap().len() == 2).await;
    let problem = place.post(&path, r#"{"why": "again"}"#).await.refused(409, "refused");
    assert!(
        problem["detail"].as_str().unwrap().contains("the step was cancelled, and that is an end"),
        "{problem}"
    );
    place.close().await;
}

#[tokio::test]
async fn every_verb_is_a_route() {
    let place = Place::open();
    let ends = [
        ("complete", "completed"),
        ("fail", "failed"),
        ("stop", "stopped"),
        ("skip", "skipped"),
        ("cancel", "cancelled"),
    ];
    for (verb, end) in ends {
        let made = place.create(r#"[{"action": "ghost"}]"#).await;
        let done = place.post(&format!("/v1/steps/{}/{verb}", made[0]), r#"{"why": "x"}"#).await.ok();
        assert_eq!(done["to"], end);
    }
    let audit = place.get("/v1/audit?limit=1").await.ok();
    assert_eq!((&audit["audit"][0]["who"], &audit["audit"][0]["why"]), (&"loopback".into(), &"x".into()));
    place.close().await;
}

#[tokio::test]
async fn a_retry_puts_a_new_step_in_its_place() {
    let place = Place::open();
    let made = place.create(r#"[{"action": "ghost"}]"#).await;
    let retry = format!("/v1/steps/{}/retry", made[0]);
    place.post(&retry, "{}").await.refused(409, "refused");
    place.post(&format!("/v1/steps/{}/fail", made[0]), r#"{"why": "bad data"}"#).await.ok();
    let done = place.post(&retry, r#"{"why": "data repaired"}"#).await.ok();
    let new = done["replaced_by"].as_str().unwrap();
    assert_eq!(place.step(new).await["state"], "pending");
    let old = place.step(&made[0]).await;
    assert_eq!((&old["state"], &old["superseded_by"]), (&"superseded".into(), &new.into()));
    place.close().await;
}

#[tokio::test]
async fn a_dry_run_says_what_would_move_and_writes_nothing() {
    let place = Place::open();
    let made = place.create(r#"[{"action": "ghost", "children": [{"action": "ghost"}]}]"#).await;
    let before = place.get("/v1/steps").await.ok();
    let path = format!("/v1/steps/{}/cancel?dry_run=true", made[0]);
    let done = place.post(&path, r#"{"why": "what if"}"#).await.ok();
    assert_eq!(done["to"], "cancelled");
    let moved: Vec<&str> =
        done["moves"].as_array().unwrap().iter().map(|m| m["to"].as_str().unwrap()).collect();
    assert_eq!(moved, ["cancelled", "cancelled"], "the child falls with it");
    assert_eq!(place.get("/v1/steps").await.ok(), before);
    assert_eq!(place.get("/v1/audit").await.ok()["audit"].as_array().unwrap().len(), 0);
    place.close().await;
}

#[tokio::test]
async fn what_cannot_be_done_is_said() {
    let place = Place::open();
    let made = place.create(r#"[{"action": "ghost"}]"#).await;
    let problem = place.post(&format!("/v1/steps/{}/explode", made[0]), "{}").await.refused(404, "not_found");
    assert!(problem["detail"].as_str().unwrap().contains("complete, fail, stop, skip, cancel, retry"));
    place
        .post("/v1/steps/00000000-0000-0000-0000-000000000001/cancel", r#"{"why": "x"}"#)
        .await
        .refused(404, "not_found");
    place.post("/v1/steps/7/cancel", "{}").await.refused(400, "invalid_request");
    let problem = place
        .post(&format!("/v1/steps/{}/cancel?dryrun=true", made[0]), "{}")
        .await
        .refused(400, "invalid_request");
    assert!(
        problem["detail"].as_str().unwrap().contains("unknown field `dryrun`, expected `dry_run`"),
        "{problem}"
    );
    let problem = place
        .post(&format!("/v1/steps/{}/cancel", made[0]), r#"{"reason": "x"}"#)
        .await
        .refused(422, "invalid_request");
    assert!(
        problem["faults"][0]["problem"].as_str().unwrap().contains("unknown field `reason`"),
        "{problem}"
    );
    let long = format!(r#"{{"by": "{}"}}"#, "x".repeat(256));
    let problem =
        place.post(&format!("/v1/steps/{}/cancel", made[0]), long).await.refused(422, "invalid_request");
    assert_eq!(problem["faults"][0]["field"], "by");
    assert_eq!(place.step(&made[0]).await["state"], "pending");
    place.close().await;
}
