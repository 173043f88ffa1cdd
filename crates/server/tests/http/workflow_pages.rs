use crate::place::{Place, endless};
use axum::body::Body;
use axum::http::Request;
use serde_json::json;

const PLANTED: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>";

const SHOWN: &str = "
workflow: shown
version: 1.0.0
steps:
  - { key: first, action: echo }
  - { key: no, action: noop, when: \"has(input.never)\" }
  - { key: many, action: echo, each: \"[1, 2, 3]\" }
  - { key: bad, action: fail, arguments: { message: \"${input.text}\" }, retry: { attempts: 1 }, on_failure: continue_with_partial }
  - { key: last, action: endless, status_message: \"Almost there\" }
  - { key: behind, action: noop }
";

async fn shown() -> (Place, String) {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
        })
        .await;
    place.define(SHOWN).await.ok();
    let body = json!({"workflow": "shown", "input": {"text": PLANTED}, "labels": {"team": PLANTED}});
    let id = place.post("/v1/workflows", body.to_string()).await.ok()["id"].as_str().unwrap().to_string();
    place.until(&format!("/v1/workflows/{id}"), |w| w["steps"][4]["state"] == "running").await;
    (place, id)
}

#[tokio::test]
async fn workflows_are_listed_by_state() {
    let (place, id) = shown().await;
    let html = place.get("/workflows?state=running").await;
    for text in ["running</span>", "<b>shown</b> 1.0.0", &format!("href=\"/workflows/{id}\""), "s ago"] {
        assert!(html.text().contains(text), "{text} is not in {}", html.text());
    }
    assert!(html.text().contains("href=\"/workflows?state=failed\"") && html.text().contains("chip chosen"));
    assert!(place.get("/workflows?state=failed").await.text().contains("No workflow is like that."));
    assert!(place.get("/step-dispatcher").await.text().contains("href=\"/workflows\""));
    place.get("/workflows?state=done").await.refused(400, "invalid_request");
    place.close().await;
}

#[tokio::test]
async fn a_workflow_is_shown_for_people() {
    let (place, id) = shown().await;
    let answer = place.get(&format!("/workflows/{id}")).await;
    let html = answer.text();
    for text in [
        "sf-step sf-action is-completed",
        "sf-step sf-action sf-when is-skipped",
        "sf-step sf-action is-failed",
        "sf-step sf-action is-running",
        "sf-step sf-action is-ahead",
        "3 items: 3 completed",
        "condition false",
        "Almost there",
        "workflow.started",
        "data-verb=\"pause\"",
        "data-verb=\"cancel\" data-asks",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "/assets/graph.css",
    ] {
        assert!(html.contains(text), "{text} is not in {html}");
    }
    assert!(!html.contains("data-verb=\"resume\"") && !html.contains("data-over"));
    // The rules for a browser allow neither.
    for inline in ["<script>", "<img src=x", "<style", "style=\"", "onclick"] {
        assert!(!html.contains(inline), "{inline} is in the page");
    }
    let sheet = place.get("/assets/graph.css").await;
    assert!(sheet.text().contains(".sf-box") && sheet.text().contains(".is-running"));
    let step = place.get(&format!("/v1/workflows/{id}")).await.ok()["steps"][0]["step_id"].clone();
    let page = place.get(&format!("/step-dispatcher/steps/{}", step.as_str().unwrap())).await;
    assert!(page.text().contains(&format!("href=\"/workflows/{id}\"")), "a step leads to its workflow");
    place.close().await;
}

#[tokio::test]
async fn a_workflow_that_is_tried_again_by_itself_says_when() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let yaml = "workflow: again\nversion: 1.0.0\non_failure: { strategy: auto_retry, delay: 1h }\nsteps:\n  - { key: pay, action: fail, retry: { attempts: 1 } }\n";
    place.define(yaml).await.ok();
    let id = place.start("again", json!({})).await;
    let shown = place.until_workflow(&id, "failed").await;
    let at = shown["auto_retry_at"].as_str().unwrap();
    let clock = at[..19].replace('T', " ") + " UTC";
    let page = place.get(&format!("/workflows/{id}")).await;
    for told in [
        format!("<dt>Tries again by itself</dt><dd>{clock}</dd>"),
        format!("{{&quot;at&quot;:&quot;{at}&quot;,&quot;retry&quot;:1}}"),
    ] {
        assert!(page.text().contains(&told), "{told} is not in {}", page.text());
    }
    let list = place.get("/workflows").await;
    assert!(list.text().contains(&format!("tries again by itself {clock}")), "{}", list.text());
    place.close().await;
}

#[tokio::test]
async fn only_those_who_may_are_offered_to_do_something() {
    let (place, id) = shown().await;
    let (key, _) = place.key("viewer").await;
    let request = Request::get(format!("/workflows/{id}")).header("host", "localhost:7837");
    let request = request.header("authorization", format!("Bearer {key}")).body(Body::empty()).unwrap();
    let html = place.send(request).await;
    assert!(html.status == 200 && !html.text().contains("data-verb"), "{}", html.text());
    place.post(&format!("/v1/workflows/{id}/cancel"), r#"{"why": "x"}"#).await.ok();
    let html = place.get(&format!("/workflows/{id}")).await;
    assert!(html.text().contains("data-over") && !html.text().contains("data-verb"), "nothing is left to do");
    place.close().await;
}

/// More steps than are drawn, or stand on a page of the table; it stays at the third.
fn large() -> String {
    let more: String = (0..500).map(|n| format!("  - {{ key: f{n}, action: noop }}\n")).collect();
    format!(
        "workflow: large\nversion: 1.0.0\nsteps:
  - {{ key: part, branch: {{ choose: \"has(input.other) ? 'b' : 'a'\", branches: {{ a: [one], b: [other] }}, converge: stay }} }}
  - {{ key: one, action: noop }}
  - {{ key: other, action: noop }}
  - {{ key: stay, action: endless }}
{more}"
    )
}

#[tokio::test]
async fn a_large_workflow_tells_the_way_it_took_and_is_paged_to_its_end() {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
        })
        .await;
    place.define(large()).await.ok();
    let id = place.start("large", json!({})).await;
    let at = format!("/v1/workflows/{id}");
    let shown = place.until(&at, |shown| shown["steps"][3]["state"] == "running").await;
    let page = place.get(&format!("/workflows/{id}")).await;
    for text in [
        "<tspan class=\"is-taken\">part (a), taken</tspan>",
        "<tspan class=\"is-not-taken\">part (b), not taken</tspan>",
        &format!(
            "<a href=\"/step-dispatcher/steps/{}\" aria-label=\"stay, running\"><g class=\"sf-step sf-row",
            shown["steps"][3]["step_id"].as_str().unwrap()
        ),
        &format!("href=\"/workflows/{id}?from=500#steps\">More steps"),
        "Steps 1 to 500 of 504.",
        "running (1)",
        "ahead (500)",
    ] {
        assert!(page.text().contains(text), "{text}");
    }
    let rows = |html: &str| html.matches("<th scope=\"row\">").count();
    assert_eq!(rows(page.text()), 500);
    let page = place.get(&format!("/workflows/{id}?from=500")).await;
    assert!(rows(page.text()) == 4 && page.text().contains("Steps 501 to 504 of 504."), "{}", page.text());
    let page = place.get(&format!("/workflows/{id}?state=running")).await;
    assert!(rows(page.text()) == 1 && page.text().contains("aria-current=\"true\">running (1)"));
    place.close().await;
}
