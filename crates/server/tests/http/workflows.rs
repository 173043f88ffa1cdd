use crate::place::{Place, endless};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use worker::{Claim, Outcome};

const SHOP: &str = "
workflow: shop
version: 1.0.0
expected_within: 1h
labels: { team: fulfilment }
steps:
  - { key: check, action: echo, arguments: { size: \"${size(input.items)}\" } }
  - { key: gift, action: noop, when: \"has(input.gift)\" }
  - { key: reserve, action: echo, each: \"input.items\" }
  - key: route
    branch:
      choose: \"input.speed\"
      branches: { fast: [express], slow: [post] }
      converge: done
  - { key: express, action: noop }
  - { key: post, action: noop }
  - { key: done, action: endless, status_message: \"It is being packed\" }
  - { key: bill, workflow: billing }
";
const BILLING: &str = "workflow: billing\nversion: 1.0.0\nsteps:\n  - { key: send, action: noop }\n";

async fn shop() -> Place {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
        })
        .await;
    place.define(BILLING).await.ok();
    place.define(SHOP).await.ok();
    place
}

fn step<'a>(workflow: &'a Value, key: &str) -> &'a Value {
    workflow["steps"].as_array().unwrap().iter().find(|step| step["key"] == key).unwrap()
}

#[tokio::test]
async fn a_workflow_is_shown_with_all_its_steps() {
    let place = shop().await;
    let id = place.start("shop", json!({"items": ["a", "b"], "speed": "fast"})).await;
    let path = format!("/v1/workflows/{id}");
    let shown = place.until(&path, |shown| step(shown, "done")["state"] == "running").await;
    let states: Vec<String> = shown["steps"].as_array().unwrap().iter().map(in_short).collect();
    assert_eq!(
        states,
        [
            "check action completed",
            "gift action skipped condition_false",
            "reserve fan_out completed",
            "route branch completed",
            "express action completed",
            "post action skipped not_on_active_branch",
            "done action running",
            "bill workflow ahead",
        ]
    );
    assert_eq!((&shown["state"], &shown["percent"]), (&json!("running"), &json!(75)));
    assert_eq!(
        (&shown["status_message"], &shown["labels"]["team"]),
        (&json!("It is being packed"), &json!("fulfilment"))
    );
    assert_eq!(shown["input"], json!({"items": ["a", "b"], "speed": "fast"}));
    assert!(shown["expected_at"].is_string() && shown.get("output").is_none());
    let check = step(&shown, "check");
    assert_eq!(
        (&check["output"], &check["run"], &check["attempt"]),
        (&json!({"size": 2}), &json!(1), &json!(1))
    );
    let reserve = step(&shown, "reserve");
    assert_eq!(reserve["items"], json!({"total": 2, "to_come": 0, "live": 0, "completed": 2, "failed": 0}));
    assert_eq!(reserve["output"], json!(["a", "b"]));
    assert_eq!(
        (&step(&shown, "post")["branch"], &step(&shown, "done")["branch"]),
        (&json!("slow"), &Value::Null)
    );
    let bill = step(&shown, "bill");
    assert_eq!((&bill["run"], bill.get("step_id")), (&json!(0), None));

    let row = place.step(step(&shown, "express")["step_id"].as_str().unwrap()).await;
    assert_eq!((&row["workflow_id"], &row["step_key"]), (&json!(id), &json!("express")));
    assert_eq!((&row["run"], &row["branch_key"], row.get("item")), (&json!(1), &json!("fast"), None));

    let answer = place.get(&path).await;
    assert_eq!(answer.headers["etag"], format!("\"{}\"", shown["revision"]).as_str());
    let svg = place.get(&format!("{path}/graph")).await;
    assert_eq!(svg.headers["content-type"], "image/svg+xml");
    for class in
        ["sf-step sf-action is-running", "sf-step sf-workflow is-ahead", "sf-step sf-branch is-completed"]
    {
        assert!(svg.text().contains(class), "{class} is not in {}", svg.text());
    }
    place.close().await;
}

fn in_short(step: &Value) -> String {
    let text = |field: &str| step[field].as_str().unwrap_or_default().to_string();
    let reason = if text("state") == "skipped" { format!(" {}", text("reason")) } else { String::new() };
    format!("{} {} {}{reason}", text("key"), text("kind"), text("state"))
}

#[tokio::test]
async fn what_happened_and_what_was_decided_is_told() {
    let place = shop().await;
    let id = place.start("shop", json!({"items": [], "speed": "fast"})).await;
    let path = format!("/v1/workflows/{id}");
    place.until(&path, |shown| step(shown, "done")["state"] == "running").await;
    let decisions = place.get(&format!("{path}/decisions")).await.ok();
    let told: Vec<String> = decisions["decisions"].as_array().unwrap().iter().map(decided).collect();
    assert_eq!(told, ["gift when false", "route branch [\"fast\"]"]);
    assert_eq!(decisions["decisions"][1]["inputs"], json!({"input.speed": "fast"}));
    let events = place.get(&format!("{path}/events")).await.ok();
    let kinds: Vec<String> = events["events"].as_array().unwrap().iter().map(kind).collect();
    assert_eq!(kinds[0], "workflow.started");
    for kind in ["step.skipped gift", "step.skipped post"] {
        assert!(kinds.contains(&kind.to_string()), "{kinds:?}");
    }
    let first = place.get(&format!("{path}/events?limit=1")).await.ok();
    assert_eq!(first["events"].as_array().unwrap().len(), 1);
    let next = first["next"].as_str().unwrap();
    let rest = place.get(&format!("{path}/events?after={next}")).await.ok();
    assert_eq!((rest["events"].as_array().unwrap().len(), &rest["next"]), (kinds.len() - 1, &Value::Null));
    place.close().await;
}

fn decided(decision: &Value) -> String {
    let text = |field: &str| decision[field].as_str().unwrap().to_string();
    format!("{} {} {}", text("step_key"), text("kind"), decision["result"])
}

fn kind(event: &Value) -> String {
    let key = event["step_key"].as_str().map(|key| format!(" {key}")).unwrap_or_default();
    format!("{}{key}", event["type"].as_str().unwrap())
}

#[tokio::test]
async fn items_are_listed_in_their_order() {
    let place = shop().await;
    let items: Vec<u32> = (0..120).collect();
    let id = place.start("shop", json!({"items": items, "speed": "slow"})).await;
    let path = format!("/v1/workflows/{id}");
    place.until(&path, |shown| step(shown, "reserve")["state"] == "completed").await;
    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let page = place.get(&format!("{path}/steps/reserve/items?limit=55{after}")).await.ok();
        seen.extend(
            page["items"].as_array().unwrap().iter().map(|item| item["item"].as_u64().unwrap() as u32),
        );
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen, items);
    let told = place.get(&format!("{path}/steps/check/items")).await.refused(404, "not_found");
    assert_eq!(told["detail"], "step `check` is no fan-out, so it has no items");
    place.get(&format!("{path}/steps/nobody/items")).await.refused(404, "not_found");
    place.close().await;
}

#[tokio::test]
async fn workflows_are_found_by_what_they_are() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    place.define(BILLING).await.ok();
    place.define("workflow: outer\nversion: 1.0.0\nsteps:\n  - { key: sub, workflow: billing }\n").await.ok();
    place
        .define(
            "workflow: bad\nversion: 1.0.0\nsteps:\n  - { key: a, action: fail, retry: { attempts: 1 } }\n",
        )
        .await
        .ok();
    let outer = place.start("outer", json!({})).await;
    let body = r#"{"workflow": "bad", "labels": {"team": "a:b", "kind": "x"}}"#;
    let bad = place.post("/v1/workflows", body).await.ok()["id"].as_str().unwrap().to_string();
    let shown = place.until_workflow(&outer, "succeeded").await;
    let below = shown["steps"][0]["below"].as_str().unwrap();
    assert_eq!(
        place.until_workflow(below, "succeeded").await["parent_step_id"],
        shown["steps"][0]["step_id"]
    );
    let failed = place.until_workflow(&bad, "failed").await;
    assert!(failed["message"].as_str().unwrap().starts_with("step `a` failed"), "{failed}");
    let found = async |query: &str| -> Vec<String> {
        let page = place.get(&format!("/v1/workflows{query}")).await.ok();
        page["workflows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w["workflow"].as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(found("").await, ["bad", "outer"], "newest first, and not those inside of others");
    assert_eq!(found("?nested=true").await.len(), 3);
    assert_eq!(found("?state=failed,running").await, ["bad"]);
    assert_eq!(found("?workflow=outer&version=1.0.0").await, ["outer"]);
    assert_eq!(found("?workflow=outer&version=2.0.0").await, [""; 0]);
    assert_eq!(found("?label=team:a:b&label=kind:x").await, ["bad"]);
    assert_eq!(found("?label=team:a:b&label=kind:y").await, [""; 0]);
    assert_eq!(found("?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z").await, [""; 0]);
    assert_eq!(found("?from=2020-01-01T00:00:00Z").await.len(), 2);
    let page = place.get("/v1/workflows?limit=1").await.ok();
    assert_eq!(page["next"], bad);
    assert_eq!(found(&format!("?limit=1&after={bad}")).await, ["outer"]);
    for query in ["?state=done", "?label=team", "?from=now", "?limit=0", "?colour=red", "?after=x"] {
        place.get(&format!("/v1/workflows{query}")).await.refused(400, "invalid_request");
    }
    place.close().await;
}

#[tokio::test]
async fn a_workflow_is_paused_resumed_and_cancelled_by_those_who_saw_it() {
    let place = shop().await;
    let id = place.start("shop", json!({"items": [], "speed": "fast"})).await;
    let path = format!("/v1/workflows/{id}");
    let shown = place.until(&path, |shown| step(shown, "done")["state"] == "running").await;
    let operate = async |verb: &str, body: &str, revision: Option<u64>| {
        let mut request = Request::post(format!("{path}/{verb}"))
            .header("host", "localhost:7837")
            .header("content-type", "application/json");
        if let Some(revision) = revision {
            request = request.header("if-match", format!("\"{revision}\""));
        }
        place.send(request.body(Body::from(body.to_string())).unwrap()).await
    };
    let revision = shown["revision"].as_u64().unwrap();
    let tried = operate("pause", r#"{"dry_run": true}"#, Some(revision)).await.ok();
    assert_eq!(
        (&tried["from"], &tried["to"], &tried["dry_run"]),
        (&json!("running"), &json!("paused"), &json!(true))
    );
    let tried = place.post(&format!("{path}/pause?dry_run=true"), "{}").await.ok();
    assert_eq!((&tried["dry_run"], &place.get(&path).await.ok()["state"]), (&json!(true), &json!("running")));
    let stale = operate("pause", "{}", Some(revision + 7)).await.refused(412, "changed");
    assert!(stale["detail"].as_str().unwrap().contains("has changed since"), "{stale}");
    let done = operate("pause", r#"{"why": "look", "by": "anna"}"#, Some(revision)).await.ok();
    assert_eq!((&done["id"], &done["dry_run"]), (&json!(id), &json!(false)));
    let paused = place.get(&path).await.ok();
    assert_eq!((&paused["state"], &paused["message"]), (&json!("paused"), &json!("look")));
    assert_eq!(done["revision"], paused["revision"], "what it answers is where it is");
    operate("pause", "{}", None).await.refused(409, "refused");
    operate("resume", "{}", Some(paused["revision"].as_u64().unwrap())).await.ok();
    operate("cancel", r#"{"why": "enough"}"#, None).await.ok();
    let ended = place.get(&path).await.ok();
    assert_eq!((&ended["state"], &step(&ended, "done")["state"]), (&json!("cancelled"), &json!("cancelled")));
    operate("resume", "{}", None).await.refused(409, "refused");
    let audit = place.get("/v1/audit").await.ok();
    let verbs: Vec<&str> =
        audit["audit"].as_array().unwrap().iter().map(|e| e["verb"].as_str().unwrap()).collect();
    assert_eq!(verbs[..3], ["cancel", "resume", "pause"]);
    let first = &audit["audit"][2];
    assert_eq!(
        (&first["who"], &first["why"], &first["target"]),
        (&json!("anna"), &json!("look"), &json!(format!("workflow {id}")))
    );
    let unknown = operate("explode", "{}", None).await.refused(404, "not_found");
    assert_eq!(
        unknown["detail"],
        "`explode` cannot be done to a workflow; these can: pause, resume, retry, compensate, retry_compensation, skip_compensation, mark_resolved, cancel"
    );
    operate("pause", r#"{"reason": "x"}"#, None).await.refused(422, "invalid_request");
    let request = Request::post(format!("{path}/pause")).header("host", "localhost:7837");
    let request = request.header("content-type", "application/json").header("if-match", "latest");
    place.send(request.body(Body::from("{}")).unwrap()).await.refused(400, "invalid_request");
    place.close().await;
}

#[tokio::test]
async fn a_start_that_is_sent_again_starts_nothing_again() {
    let place = shop().await;
    let send = async || {
        let request = Request::post("/v1/workflows").header("host", "localhost:7837");
        let request = request.header("content-type", "application/json").header("idempotency-key", "order-7");
        place.send(request.body(Body::from(r#"{"workflow": "billing"}"#)).unwrap()).await
    };
    let (first, second) = (send().await, send().await);
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201));
    assert_eq!(first.json(), second.json());
    assert_eq!(second.headers["idempotency-replayed"], "true");
    assert_eq!(place.get("/v1/workflows").await.ok()["workflows"].as_array().unwrap().len(), 1);
    place.close().await;
}

#[tokio::test]
async fn what_cannot_be_started_or_found_is_said() {
    let place = shop().await;
    let nobody = "00000000-0000-0000-0000-000000000001";
    for path in ["", "/events", "/decisions", "/graph", "/steps/a/items"] {
        let told = place.get(&format!("/v1/workflows/{nobody}{path}")).await.refused(404, "not_found");
        assert_eq!(told["detail"], format!("there is no workflow {nobody}"), "{path}");
        place.get(&format!("/v1/workflows/x{path}")).await.refused(400, "invalid_request");
    }
    place.post(&format!("/v1/workflows/{nobody}/pause"), "{}").await.refused(404, "not_found");
    let told = place.post("/v1/workflows", r#"{"workflow": "nobody"}"#).await.refused(404, "not_found");
    assert!(told["detail"].as_str().unwrap().contains("there is no definition `nobody`"), "{told}");
    place
        .post("/v1/workflows", r#"{"workflow": "shop", "version": "9.9.9"}"#)
        .await
        .refused(404, "not_found");
    let told = place.post("/v1/workflows", "{}").await.refused(422, "invalid_request");
    assert_eq!(told["faults"][0]["field"], "workflow");
    place
        .post("/v1/workflows", r#"{"workflow": "shop", "inputs": {}}"#)
        .await
        .refused(422, "invalid_request");
    place.close().await;
}

const CARDS: &str = "
workflow: cards
version: 1.0.0
secrets: [input.card.number, input.pin]
steps:
  - { key: charge, action: echo, when: \"has(input.card.number)\", arguments: { card: \"${input.card.number}\", pin: \"${input.pin}\" } }
  - { key: each, action: echo, each: \"[input.card]\" }
  - { key: refuse, action: refuse, retry: { attempts: 1 } }
";

#[tokio::test]
async fn what_is_secret_is_shown_nowhere() {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("refuse", async |claim: Claim| {
                let failure =
                    model::Failure { message: format!("not with {}", claim.arguments), trace: None };
                Outcome::Fail { failure, notify: true }
            });
        })
        .await;
    place.define(CARDS).await.ok();
    let id =
        place.start("cards", json!({"card": {"number": "4111222233334444"}, "pin": 98765, "id": 7})).await;
    let shown = place.until_workflow(&id, "failed").await;
    assert_eq!(shown["input"], json!({"card": {"number": "[secret]"}, "pin": "[secret]", "id": 7}));
    assert_eq!(step(&shown, "charge")["output"], json!({"card": "[secret]", "pin": "[secret]"}));
    let steps =
        [step(&shown, "charge"), step(&shown, "refuse")].map(|step| step["step_id"].as_str().unwrap());
    let mut paths = vec!["/v1/workflows".to_string(), "/workflows".into(), "/v1/steps".into()];
    paths.extend(
        ["", "/events", "/decisions", "/steps/each/items"].map(|path| format!("/v1/workflows/{id}{path}")),
    );
    paths.push(format!("/workflows/{id}"));
    for step in steps {
        paths.extend([format!("/v1/steps/{step}"), format!("/v1/steps/{step}/attempts")]);
        paths.push(format!("/step-dispatcher/steps/{step}"));
    }
    for path in paths {
        let answer = place.get(&path).await;
        assert_eq!(answer.status, 200, "{path}");
        for secret in ["4111222233334444", "98765"] {
            assert!(!answer.text().contains(secret), "{path} shows {secret}: {}", answer.text());
        }
    }
    place.close().await;
}

/// Found in review: what a workflow was given in secret was shown where it had been handed down.
#[tokio::test]
async fn a_secret_is_hidden_in_the_workflow_it_is_handed_down_to() {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
        })
        .await;
    place.define("workflow: pays\nversion: 1.0.0\nsteps:\n  - { key: pay, action: endless }\n").await.ok();
    let buys = "workflow: buys\nversion: 1.0.0\nsecrets: [input.card]\nsteps:\n  - { key: sub, workflow: pays, input: { number: \"${input.card}\" } }\n";
    place.define(buys).await.ok();
    let id = place.start("buys", json!({"card": "4111-1111-1111-1111"})).await;
    let outer = place.until(&format!("/v1/workflows/{id}"), |w| step(w, "sub")["below"].is_string()).await;
    let below = step(&outer, "sub")["below"].as_str().unwrap().to_string();
    let inner =
        place.until(&format!("/v1/workflows/{below}"), |w| step(w, "pay")["state"] == "running").await;
    assert_eq!(inner["input"]["number"], "[secret]");
    let pay = step(&inner, "pay")["step_id"].as_str().unwrap();
    let shown = place.get(&format!("/v1/steps/{pay}")).await.ok();
    assert!(!shown.to_string().contains("4111-1111"), "{shown}");
    place.close().await;
}
