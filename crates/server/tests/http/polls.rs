use crate::place::Place;
use serde_json::{Value, json};
use std::time::Duration;
use worker::{Claim, Outcome};

const PAY: &str = "
workflow: pay
version: 1.0.0
secrets: [input.card]
steps:
  - key: paid
    poll: { action: status, interval: 1h, on_timeout: continue_with_default, default: 0 }
";

/// A job that is asked again, and tells the card it was given.
fn status(claim: Claim) -> std::future::Ready<Outcome> {
    let after = Some(Duration::from_secs(if claim.arguments.contains("late") { 7_200 } else { 60 }));
    std::future::ready(Outcome::Continue { data: Some(claim.arguments.to_string()), after })
}

async fn place() -> Place {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("status", status);
        })
        .await;
    place.define(PAY).await.ok();
    place
}

async fn polled(place: &Place, input: Value) -> Value {
    let id = place.start("pay", input).await;
    place.until(&format!("/v1/workflows/{id}"), |shown| shown["steps"][0]["state"] == "polling").await
}

#[tokio::test]
async fn those_that_wait_are_listed_by_their_time() {
    let place = place().await;
    let late = polled(&place, json!({"order": "late"})).await;
    let soon = polled(&place, json!({"order": "soon"})).await;
    let page = place.get("/v1/polls").await.ok();
    let polls = page["polls"].as_array().unwrap();
    let ids: Vec<&Value> = polls.iter().map(|poll| &poll["workflow_id"]).collect();
    assert_eq!(ids, [&soon["id"], &late["id"]], "{page}");
    let first = &polls[0];
    assert_eq!(
        (&first["workflow"], &first["step_key"], &first["polls"]),
        (&json!("pay"), &json!("paid"), &json!(1))
    );
    assert_eq!((&first["is_due"], &first["action"]), (&json!(false), &json!("status")));
    assert!(first["next_poll_at"].is_string() && first["poll_started_at"].is_string());
    let one = place.get("/v1/polls?limit=1").await.ok();
    let next = one["next"].as_str().unwrap();
    let rest = place.get(&format!("/v1/polls?limit=1&after={next}")).await.ok();
    assert_eq!((&rest["polls"][0]["workflow_id"], &rest["next"]), (&late["id"], &Value::Null));
    assert_eq!(place.get("/v1/polls?due=true").await.ok()["polls"], json!([]));
    assert_eq!(place.get("/v1/polls?after=soon").await.status, 400);
    place.close().await;
}

#[tokio::test]
async fn polls_are_shown_with_their_step_and_its_workflow_and_no_secret_is() {
    let place = place().await;
    let shown = polled(&place, json!({"card": "4111-1111-1111", "order": "soon"})).await;
    let step = &shown["steps"][0];
    let polls = &step["polls"];
    assert_eq!(
        (&step["kind"], &polls["made"], &polls["next_at"].is_string()),
        (&json!("poll"), &json!(1), &true)
    );
    let poll = &polls["last"][0];
    assert_eq!((&poll["number"], &poll["verdict"]), (&json!(1), &json!("continue")));
    assert_eq!(poll["next_interval_ms"], json!(60_000));
    assert_eq!(poll["data"], json!(r#"{"card":"[secret]","order":"soon"}"#));
    assert!(step["why"][0].as_str().unwrap().starts_with("its poll 2 is due later, at "), "{step}");
    let id = step["step_id"].as_str().unwrap();
    let alone = place.step(id).await;
    assert_eq!(alone["polls"]["last"], polls["last"]);
    assert!(!alone.to_string().contains("4111-1111-1111"));
    for page in
        [format!("/workflows/{}", shown["id"].as_str().unwrap()), format!("/step-dispatcher/steps/{id}")]
    {
        let html = place.get(&page).await.text().to_string();
        assert!(html.contains("Polled once, next ") && html.contains("[secret]"), "{html}");
        assert!(!html.contains("4111-1111-1111"));
    }
    place.close().await;
}

#[tokio::test]
async fn recovery_tells_what_it_would_put_back() {
    let place = place().await;
    polled(&place, json!({"order": "late"})).await;
    let answer = place.post("/v1/polls/recover?dry_run=true", "{}").await.ok();
    assert_eq!(answer, json!({"steps": [], "dry_run": true}));
    let answer = place.post("/v1/polls/recover", r#"{"older_seconds": 1, "by": "ada"}"#).await.ok();
    assert_eq!(answer, json!({"steps": [], "dry_run": false}));
    assert_eq!(place.post("/v1/polls/recover", r#"{"older": 1}"#).await.status, 422);
    place.close().await;
}
