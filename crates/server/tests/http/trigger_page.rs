//! The page on which somebody without a key answers a trigger.

use crate::place::{Answer, Place, ask, peer};
use axum::body::Body;
use axum::http::Request;
use serde_json::json;

const ASK: &str = "
workflow: purchase
version: 1.0.0
description: A purchase <of> yours
steps:
  - key: submit
    action: echo
    status_message: Somebody wants to buy & pay
    pause_after:
      trigger: approval
      auth: token
      payload:
        schema:
          type: object
          required: [approved]
          properties:
            approved: { type: boolean, title: Do you approve? }
            level: { enum: [low, high] }
            note: { type: string, maxLength: 80 }
      resume_when: payload.approved
  - { key: end, action: echo, arguments: \"${outputs.approval}\" }
";

async fn waiting() -> (Place, String, String) {
    let mut place = Place::open();
    place.work(|_| {}).await;
    place.define(ASK).await.ok();
    let id = place.start("purchase", json!({})).await;
    place.until_workflow(&id, "paused").await;
    let made = place.post(&format!("/v1/workflows/{id}/triggers/approval/token"), "{}").await.ok();
    (place, id, made["token"].as_str().unwrap().to_string())
}

async fn open(place: &Place, path: &str) -> Answer {
    let request = Request::get(path).header("host", "steps.example").header("accept", "text/html");
    ask(&place.router, request.extension(peer("203.0.113.9:40000")).body(Body::empty()).unwrap()).await
}

async fn enter(place: &Place, id: &str, form: &str) -> Answer {
    let request = Request::post(format!("/approve/{id}/approval"))
        .header("host", "steps.example")
        .header("origin", "https://steps.example")
        .header("content-type", "application/x-www-form-urlencoded");
    let request = request.extension(peer("203.0.113.9:40000")).body(Body::from(form.to_string())).unwrap();
    ask(&place.router, request).await
}

/// The name of the field below this title.
fn field(page: &str, title: &str) -> String {
    let label = page.split("<label for=\"").find(|part| part.contains(title)).unwrap();
    label.split('"').next().unwrap().into()
}

#[tokio::test]
async fn a_person_answers_on_a_page_made_from_the_schema() {
    let (place, id, token) = waiting().await;
    let path = format!("/approve/{id}/approval?token={token}");
    let page = open(&place, &path).await;
    assert_eq!(page.status, 200, "{}", page.text());
    let text = page.text();
    for part in [
        "A purchase &lt;of&gt; yours",
        "Somebody wants to buy &amp; pay",
        "Do you approve? *",
        "<select",
        "viewport",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("default-src 'none'")
            && !policy.contains("script-src")
            && !policy.contains("unsafe")
    );
    assert!(!text.contains("<script"), "it works without");
    let (approved, level, note) = (field(text, "Do you approve?"), field(text, "level"), field(text, "note"));
    open(&place, &path).await;
    assert_eq!(place.until_workflow(&id, "paused").await["state"], "paused", "to look is to consume nothing");
    let unfit = enter(&place, &id, &format!("token={token}&{note}=hm")).await;
    assert_eq!(unfit.status, 422);
    assert!(unfit.text().contains("required property") && unfit.text().contains("<form"), "{}", unfit.text());
    let no = enter(&place, &id, &format!("token={token}&{approved}=false")).await;
    assert_eq!(no.status, 202);
    assert!(no.text().contains("the work waits on"), "{}", no.text());
    let yes = enter(&place, &id, &format!("token={token}&{approved}=true&{level}=1&{note}=a+%26+b")).await;
    assert_eq!(yes.status, 200);
    assert!(yes.text().contains("Thank you"), "{}", yes.text());
    let done = place.until_workflow(&id, "succeeded").await;
    assert_eq!(done["output"], json!({"approved": true, "level": "high", "note": "a & b"}));
    let again = enter(&place, &id, &format!("token={token}&{approved}=true")).await;
    assert!(again.status == 200 && again.text().contains("Already answered"), "{}", again.text());
    assert!(open(&place, &path).await.text().contains("Already answered"));
    place.close().await;
}

#[tokio::test]
async fn without_its_token_the_page_says_nothing() {
    let (place, id, token) = waiting().await;
    let wrong = [
        format!("/approve/{id}/approval"),
        format!("/approve/{id}/approval?token=pt_wrong"),
        format!("/approve/{id}/other?token={token}"),
        format!("/approve/00000000-0000-0000-0000-000000000001/approval?token={token}"),
        format!("/approve/what/approval?token={token}"),
    ];
    for path in wrong {
        let page = open(&place, &path).await;
        assert_eq!(page.status, 401, "{path}");
        assert!(!page.text().contains("purchase"), "{}", page.text());
    }
    assert_eq!(enter(&place, &id, "token=pt_wrong&field-0=true").await.status, 401);
    let foreign = Request::post(format!("/approve/{id}/approval"))
        .header("host", "steps.example")
        .header("origin", "https://evil.example")
        .header("content-type", "application/x-www-form-urlencoded")
        .extension(peer("203.0.113.9:40000"));
    let foreign = foreign.body(Body::from(format!("token={token}&field-0=true"))).unwrap();
    ask(&place.router, foreign).await.refused(403, "forbidden");
    place.post(&format!("/v1/workflows/{id}/cancel"), r#"{"why": "x"}"#).await.ok();
    let late = open(&place, &format!("/approve/{id}/approval?token={token}")).await;
    assert!(late.status == 410 && late.text().contains("Too late"), "{}", late.text());
    place.close().await;
}

#[tokio::test]
async fn the_page_of_the_workflow_says_what_it_waits_for() {
    let (place, id, _) = waiting().await;
    let page = place.get(&format!("/workflows/{id}")).await;
    for part in ["Waits for", "approval", "behind submit", "Go on without", "data-force", "stepfast trigger"]
    {
        assert!(page.text().contains(part), "{part} in {}", page.text());
    }
    place.close().await;
}
