use crate::place::Place;

#[tokio::test]
async fn settled_trees_are_archived_and_a_dry_run_takes_nothing() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let made = place.create(r#"[{"action": "noop"}, {"action": "ghost"}]"#).await;
    place.until_state(&made[0], "completed").await;
    // Until long after everything here happened.
    let body = r#"{"archive": {"before": 4000000000000000, "why": "old"}}"#;
    let would = place.post("/v1/retention?dry_run=true", body).await.ok();
    assert_eq!((&would["trees"], &would["steps"]), (&1.into(), &1.into()));
    assert_eq!(place.get("/v1/steps").await.ok()["steps"].as_array().unwrap().len(), 2);
    let did = place.post("/v1/retention", body).await.ok();
    assert_eq!((&did["steps"], &did["more"]), (&1.into(), &false.into()));
    let left = place.get("/v1/steps").await.ok();
    assert_eq!((left["steps"].as_array().unwrap().len(), &left["steps"][0]["action"]), (1, &"ghost".into()));
    let problem = place.post("/v1/retention", r#"{"shred": {}}"#).await.refused(422, "invalid_request");
    assert!(
        problem["faults"][0]["problem"].as_str().unwrap().contains("unknown variant `shred`"),
        "{problem}"
    );
    place.close().await;
}
