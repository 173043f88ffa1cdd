//! A server with something of everything, and in every text that comes from outside something that would run if it were markup.

use crate::place::{Place, endless};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::time::Duration;
use worker::{Claim, Outcome};

/// Every way in at once: an address, a tag, an attribute, a script.
pub const PLANTED: &str = "javascript:alert(0)//\"'><script>alert(1)</script><img src=x onerror=alert(2)>";

const ORDER: &str = r#"
workflow: order
version: VERSION
description: "DESCRIPTION"
steps:
  - { key: check, action: echo, arguments: { text: "${input.text}" } }
  - { key: charge, action: fail, arguments: { message: "${input.text}" }, retry: { attempts: 1 } }
  - { key: ship, action: noop }
"#;

const ASK: &str = r#"
workflow: approval
version: 1.0.0
description: "DESCRIPTION"
steps:
  - { key: part, branch: { choose: "has(input.other) ? 'b' : 'a'", branches: { a: [ask], b: [other] }, converge: last } }
  - key: ask
    action: echo
    status_message: "DESCRIPTION"
    pause_after:
      trigger: approve
      payload:
        schema:
          type: object
          required: [approved]
          properties:
            approved: { type: boolean, title: "DESCRIPTION", description: "DESCRIPTION" }
            level: { enum: ["DESCRIPTION", high] }
  - { key: other, action: noop }
  - { key: last, action: echo }
"#;

const POLL: &str = "
workflow: polled
version: 1.0.0
steps:
  - { key: look, poll: { action: look, interval: 1h } }
";

fn look(_: Claim) -> std::future::Ready<Outcome> {
    let after = Some(Duration::from_secs(3_600));
    std::future::ready(Outcome::Continue { data: Some(json!(PLANTED).to_string()), after })
}

pub struct Showcase {
    pub place: Place,
    /// Every page that shows something of it.
    pub pages: Vec<String>,
    pub failed_workflow: String,
    pub paused_workflow: String,
    pub waiting_step: String,
}

async fn made(place: &Place, path: &str, body: Value) -> Value {
    place.post(path, body.to_string()).await.ok()
}

fn id(of: &Value) -> String {
    of["id"].as_str().unwrap().into()
}

/// What stands in the address for what was planted.
fn escaped() -> String {
    PLANTED.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

pub async fn everything() -> Showcase {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
            registry.raw("look", look);
            registry.raw(PLANTED, endless);
            crate::timeline::register(registry);
        })
        .await;
    let steps = steps(&place).await;
    let (failed_workflow, paused_workflow) = workflows(&place).await;
    let flow = around(&place).await;
    let alert = alert(&place).await;
    let mut pages = pages(&steps, [&failed_workflow, &paused_workflow], &flow, alert);
    pages.push(format!("/workflows/{}", crate::timeline::journey(&place).await));
    pages.push(format!("/bulk/{}", bulk(&place).await));
    pages.extend(asked(&place, 1).await.into_iter().map(|(_, page)| page));
    made(&place, "/v1/breaker", json!({"off": true, "why": PLANTED, "by": PLANTED})).await;
    Showcase { place, pages, failed_workflow, paused_workflow, waiting_step: steps[3].clone() }
}

/// Running, failed, a tree, one that waits in a line, and one that nobody takes.
async fn steps(place: &Place) -> Vec<String> {
    let p = PLANTED;
    self::made(place, "/v1/pools", json!({"name": p, "concurrency": 2, "rate": "5/s", "by": p})).await;
    let made = json!([
        {"action": p, "label": p, "step_key": p, "relatable_type": p, "relatable_id": p},
        {"action": "fail", "label": p, "arguments": {"message": p}},
        {"action": "noop", "label": p, "children": [{"action": "endless", "label": p}, {"action": "noop", "index": 2}]},
        {"action": "ghost", "message_group": p, "mode": "block_on_error", "pool": p, "arguments": {"p": p}},
        {"action": "ghost", "label": p},
    ]);
    let made = place.create(&made.to_string()).await;
    place.until_state(&made[0], "running").await;
    place.until_state(&made[1], "failed").await;
    place.until_state(&made[2], "running").await;
    self::made(place, &format!("/v1/message-groups/{}/pause", escaped()), json!({"why": p, "by": p})).await;
    made
}

async fn workflows(place: &Place) -> (String, String) {
    let planted = json!(PLANTED).to_string();
    let text = |yaml: &str| yaml.replace("\"DESCRIPTION\"", &planted);
    for yaml in [
        text(ORDER).replace("VERSION", "1.0.0"),
        text(ORDER).replace("VERSION", "1.1.0") + "  - { key: mail, action: noop }\n",
    ] {
        place.define(yaml).await.ok();
    }
    place.define(text(ASK)).await.ok();
    place.define(POLL).await.ok();
    let start = |workflow: &str| json!({"workflow": workflow, "input": {"text": PLANTED}, "labels": {"team": PLANTED}});
    let failed = id(&made(place, "/v1/workflows", start("order")).await);
    let paused = id(&made(place, "/v1/workflows", start("approval")).await);
    let polled = id(&made(place, "/v1/workflows", start("polled")).await);
    place.until_workflow(&failed, "failed").await;
    place.until_workflow(&paused, "paused").await;
    place.until(&format!("/v1/workflows/{polled}"), |shown| shown["steps"][0]["state"] == "polling").await;
    (failed, paused)
}

/// Workflows that wait for somebody without a key, each with the page that its link opens.
pub async fn asked(place: &Place, count: usize) -> Vec<(String, String)> {
    let text = ASK.replace("workflow: approval", "workflow: letter");
    let text = text.replace("trigger: approve", "trigger: approve\n      auth: token");
    place.define(text.replace("\"DESCRIPTION\"", &json!(PLANTED).to_string())).await.ok();
    let mut asked = Vec::new();
    for _ in 0..count {
        let id = place.start("letter", json!({})).await;
        place.until_workflow(&id, "paused").await;
        let made = place.post(&format!("/v1/workflows/{id}/triggers/approve/token"), "{}").await.ok();
        asked.push((id, made["page"].as_str().unwrap().to_string()));
    }
    asked
}

/// Executions, keys, channels, subscriptions and a flow.
async fn around(place: &Place) -> String {
    let p = PLANTED;
    let begun = made(place, "/v1/executions/begin", json!({"namespace": p, "key": p, "input": p})).await;
    let failed = json!({"namespace": p, "key": p, "owner": begun["owner"], "error": p});
    assert_eq!(place.post("/v1/executions/fail", failed.to_string()).await.status, 204);
    made(place, "/v1/keys", json!({"name": p, "role": "viewer", "by": p})).await;
    made(
        place,
        "/v1/channels",
        json!({"name": "ops", "kind": "webhook", "url": "https://example.com/hook", "labels": {"team": p}}),
    )
    .await;
    made(
        place,
        "/v1/subscriptions",
        json!({"name": p, "url": "https://example.com/hook", "types": ["*"], "labels": {"team": p}}),
    )
    .await;
    let flow =
        json!({"type": p, "entity_type": p, "entity_id": p, "user": p, "steps": ["debited", "credited"]});
    let flow = made(place, "/v1/flows", flow).await["flow"]["id"].as_str().unwrap().to_string();
    made(place, &format!("/v1/flows/{flow}/steps/debited/complete"), json!({"message": p})).await;
    flow
}

async fn alert(place: &Place) -> u64 {
    let rule = json!({"older_than": "0s", "severity": "critical", "by": PLANTED}).to_string();
    let request = Request::put("/v1/stuck/rules/step-waiting")
        .header("host", "localhost")
        .header("content-type", "application/json");
    place.send(request.body(Body::from(rule)).unwrap()).await.ok();
    made(place, "/v1/stuck/detect", json!({})).await;
    let alert = place.get("/v1/alerts").await.ok()["alerts"][0]["id"].as_u64().unwrap();
    made(place, &format!("/v1/alerts/{alert}/note"), json!({"text": PLANTED, "by": PLANTED})).await;
    alert
}

/// Asked for, and nobody does it: what it says is what was written.
async fn bulk(place: &Place) -> String {
    let p = PLANTED;
    let filter = json!({"action": p, "step_key": p, "state": ["pending", "failed"]});
    id(&made(
        place,
        "/v1/bulk",
        json!({"what": "steps", "filter": filter, "verb": "skip", "why": p, "by": p}),
    )
    .await)
}

fn pages(steps: &[String], workflows: [&String; 2], flow: &str, alert: u64) -> Vec<String> {
    let lists = "/step-dispatcher /step-dispatcher?span=day /step-dispatcher/steps /step-dispatcher/steps?state=skipped /workflows
        /alerts /alerts?state=closed /message-groups /notifications /progress /flows /waiting /pools /executions /definitions
        /bulk /bulk?what=workflows&label=a:b&state=failed,paused /definitions/order /definitions/order/1.1.0?against=1.0.0 /definitions/approval /nodes /settings /keys /audit /audit?verb=cancel /sign-in /nothing";
    let mut pages: Vec<String> = lists.split_whitespace().map(String::from).collect();
    pages.extend(steps.iter().map(|id| format!("/step-dispatcher/steps/{id}")));
    pages.extend(workflows.iter().map(|id| format!("/workflows/{id}")));
    pages.push(format!("/waiting/{}/approve", workflows[1]));
    pages.push(format!("/message-groups/{}", escaped()));
    pages.push(format!("/executions/{0}/{0}", escaped()));
    pages.push(format!("/step-dispatcher/steps?pool={0}&queue={0}", escaped()));
    pages.push(format!("/workflows?version={0}&label=team:{0}&label=b:{0}", escaped()));
    pages.push(format!("/flows/{flow}"));
    pages.push(format!("/alerts/{alert}"));
    pages
}
