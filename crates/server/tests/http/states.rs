//! Workflows, steps and message groups in every state in which something can or cannot be done about them.

use crate::place::{Place, endless};
use axum::body::Body;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use worker::{Claim, Failure, Outcome};

/// One definition a line: its name, what it says beside its steps, and its steps.
const DEFINITIONS: &str = r#"
plain | | { key: do, action: endless }
undoable | | { key: book, action: echo, compensation: { action: noop } } ; { key: do, action: endless }
withdrawn | on_cancel: compensate | { key: book, action: echo, compensation: { action: endless } } ; { key: do, action: endless }
asked | | { key: ask, action: echo, pause_after: { trigger: approve } } ; { key: last, action: endless }
broken | | { key: check, action: echo } ; { key: pay, action: moody } ; { key: ship, action: endless }
broken-undoable | | { key: book, action: echo, compensation: { action: endless } } ; { key: pay, action: moody } ; { key: ship, action: noop }
broken-at-once | | { key: pay, action: moody, compensation: { action: noop } } ; { key: ship, action: noop }
refused | | { key: check, action: echo, terminate_when: { if: "true", state: failed, reason: not today } }
stuck | on_failure: auto_compensate | { key: book, action: echo, compensation: { action: moody, retry: { attempts: 1 } } } ; { key: pay, action: moody }
undoing | on_failure: auto_compensate | { key: book, action: echo, compensation: { action: endless } } ; { key: pay, action: moody }
undone | on_failure: auto_compensate | { key: book, action: echo, compensation: { action: noop } } ; { key: pay, action: moody }
single | concurrency: { key: input.key, limit: 1 } | { key: do, action: endless }
keyed | concurrency: { key: input.key, limit: 1 } | { key: pay, action: unless, retry: { attempts: 1 } } ; { key: do, action: endless }
above | | { key: below, workflow: broken }
many | | { key: all, action: unless, each: "[{'works': true}, {'works': false}]", retry: { attempts: 1 } } ; { key: last, action: noop }
polled | | { key: look, poll: { action: look, interval: 1h } } ; { key: last, action: noop }
parted | | { key: part, branch: { choose: "has(input.other) ? 'b' : 'a'", branches: { a: [one], b: [other] }, converge: last } } ; { key: one, action: moody } ; { key: other, action: noop } ; { key: last, action: noop }
held | | { key: pay, action: moody, on_failure: pause_workflow } ; { key: last, action: endless }
short | | { key: do, action: noop }
"#;

fn definition(line: &str) -> String {
    let parts: Vec<&str> = line.split('|').map(str::trim).collect();
    let steps: Vec<String> = parts[2].split(';').map(|step| format!("  - {}\n", step.trim())).collect();
    let steps = steps.concat().replace("action: moody }", "action: moody, retry: { attempts: 1 } }");
    format!("workflow: {}\nversion: 1.0.0\n{}\nsteps:\n{steps}", parts[0], parts[1])
}

/// It fails, and when it is done again it runs on.
async fn moody(claim: Claim) -> Outcome {
    match claim.workflow.as_ref().is_some_and(|workflow| workflow.run > 1) {
        true => endless(claim).await,
        false => failed(),
    }
}

/// It fails unless it is told that it works.
async fn unless(claim: Claim) -> Outcome {
    let told: Value = serde_json::from_str(&claim.arguments).unwrap();
    if told["works"] == true { Outcome::Complete { response: None } } else { failed() }
}

fn failed() -> Outcome {
    Outcome::Fail { failure: Failure { message: "no".into(), trace: None }, notify: false }
}

async fn look(_: Claim) -> Outcome {
    Outcome::Continue { data: None, after: Some(Duration::from_secs(3_600)) }
}

/// A server with a worker for all of it.
pub async fn open() -> Place {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
            registry.raw("moody", moody);
            registry.raw("unless", unless);
            registry.raw("look", look);
        })
        .await;
    for line in DEFINITIONS.lines().filter(|line| !line.is_empty()) {
        place.define(definition(line)).await.ok();
    }
    place
}

/// Start one, and wait until it is there.
pub async fn started(place: &Place, workflow: &str, input: Value, state: &str) -> String {
    let id = place.start(workflow, input).await;
    place.until_workflow(&id, state).await;
    id
}

pub async fn done(place: &Place, path: &str, body: impl Into<Body>) -> Value {
    place.post(path, body).await.ok()
}

const WHY: &str = r#"{"why": "told to"}"#;

/// Until a step of it is in a state.
async fn with_step(place: &Place, id: &str, n: usize, state: &str) {
    place.until(&format!("/v1/workflows/{id}"), |shown| shown["steps"][n]["state"] == state).await;
}

/// By what they are.
pub async fn workflows(place: &Place) -> BTreeMap<&'static str, String> {
    let mut all = BTreeMap::new();
    for (name, workflow, state) in [
        ("running", "plain", "running"),
        ("running and undoable", "undoable", "running"),
        ("running and undone when cancelled", "withdrawn", "running"),
        ("waits for a trigger", "asked", "paused"),
        ("failed", "broken", "failed"),
        ("failed and undoable", "broken-undoable", "failed"),
        ("failed before anything was done", "broken-at-once", "failed"),
        ("failed, but none of its steps", "refused", "failed"),
        ("not undone", "stuck", "compensation_failed"),
        ("being undone", "undoing", "compensating"),
        ("undone", "undone", "compensated"),
        ("succeeded", "short", "succeeded"),
        ("failed with what it started", "above", "failed"),
        ("failed items", "many", "failed"),
        ("polls", "polled", "running"),
        ("failed on a branch", "parted", "failed"),
        ("held by a step that failed", "held", "paused"),
        ("paused", "plain", "running"),
        ("paused and undoable", "undoable", "running"),
        ("waits for a trigger and a person", "asked", "paused"),
        ("resolved", "broken", "failed"),
        ("cancelled", "plain", "running"),
    ] {
        all.insert(name, started(place, workflow, json!({}), state).await);
    }
    for name in ["running and undoable", "running and undone when cancelled", "paused and undoable"] {
        with_step(place, &all[name], 1, "running").await;
    }
    with_step(place, &all["polls"], 0, "polling").await;
    let below = place.get(&format!("/v1/workflows/{}", all["failed with what it started"])).await.ok();
    all.insert("failed below one that went on", below["steps"][0]["below"].as_str().unwrap().into());
    for (name, verb) in [
        ("paused", "pause"),
        ("paused and undoable", "pause"),
        ("waits for a trigger and a person", "pause"),
        ("resolved", "mark_resolved"),
        ("cancelled", "cancel"),
    ] {
        done(place, &format!("/v1/workflows/{}/{verb}", all[name]), WHY).await;
    }
    let key = json!({"key": "a"});
    all.insert("first of its key", started(place, "single", key.clone(), "running").await);
    all.insert("second of its key", started(place, "single", key, "pending").await);
    let key = json!({"key": "b", "works": false});
    all.insert("failed, and its key is free", started(place, "keyed", key, "failed").await);
    let key = json!({"key": "c", "works": false});
    all.insert("failed, and its key is taken", started(place, "keyed", key, "failed").await);
    started(place, "keyed", json!({"key": "c", "works": true}), "running").await;
    all
}

/// By what they are.
pub async fn steps(place: &Place) -> BTreeMap<&'static str, String> {
    let child = |action: &str, more: Value| {
        let mut step = json!({"action": action});
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        step
    };
    let made = json!([
        {"action": "ghost"},
        {"action": "endless"},
        {"action": "noop"},
        {"action": "fail"},
        {"action": "noop", "children": [child("endless", json!({})), child("ghost", json!({"index": 2}))]},
        {"action": "noop", "children": [child("noop", json!({})), child("ghost", json!({"kind": "resolve-exception"}))]},
        {"action": "noop", "success": "best_effort",
            "children": [child("fail", json!({})), child("endless", json!({}))]},
        {"action": "noop", "children": [child("fail", json!({}))]},
        {"action": "noop",
            "children": [child("fail", json!({})), child("ghost", json!({"kind": "resolve-exception"}))]},
        {"action": "ghost"},
        {"action": "fail"},
        {"action": "ghost"},
        {"action": "ghost"},
    ]);
    let made = place.create(&made.to_string()).await;
    let names = [
        "pending",
        "running",
        "completed",
        "failed",
        "waits for its children",
        "completed with a resolver asleep",
        "waits, and a child failed",
        "failed with its child",
        "waits for a resolver",
        "cancelled",
        "superseded",
        "skipped",
        "stopped",
    ];
    let mut all: BTreeMap<&'static str, String> = names.into_iter().zip(made).collect();
    for (name, state) in [
        ("running", "running"),
        ("completed", "completed"),
        ("failed", "failed"),
        ("superseded", "failed"),
        ("completed with a resolver asleep", "completed"),
        ("failed with its child", "failed"),
    ] {
        place.until_state(&all[name], state).await;
    }
    for (name, verb) in
        [("cancelled", "cancel"), ("superseded", "retry"), ("skipped", "skip"), ("stopped", "stop")]
    {
        done(place, &format!("/v1/steps/{}/{verb}", all[name]), WHY).await;
    }
    for (of, n, state, name) in [
        ("waits for its children", 0, "running", "a child that runs"),
        ("waits, and a child failed", 0, "failed", "a child that failed"),
        ("failed with its child", 0, "failed", "a child of one that failed"),
        ("waits for a resolver", 1, "pending", "a resolver that is due"),
    ] {
        all.insert(name, below(place, &all[of], n, state).await);
    }
    all
}

/// A child, once it is in a state.
async fn below(place: &Place, parent: &str, n: usize, state: &str) -> String {
    let has_children = |step: &Value| step["child_block_id"].is_string();
    let shown = place.until(&format!("/v1/steps/{parent}"), has_children).await;
    let block = shown["child_block_id"].as_str().unwrap();
    let of = format!("/v1/steps?block_id={block}");
    let listed = place.until(&of, |page| page["steps"].as_array().is_some_and(|all| all.len() > n)).await;
    let mut ids: Vec<&str> =
        listed["steps"].as_array().unwrap().iter().map(|step| step["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    place.until_state(ids[n], state).await;
    ids[n].to_string()
}

/// Their names are what they are.
pub async fn message_groups(place: &Place) -> Vec<&'static str> {
    let letter = |group: &str, action: &str| json!({"action": action, "message_group": group, "mode": "block_on_error"});
    let mut letters = Vec::new();
    for group in ["waits", "paused-line"] {
        letters.extend([letter(group, "ghost"), letter(group, "ghost")]);
    }
    letters.extend([letter("runs", "endless"), letter("runs", "ghost")]);
    for group in ["blocked", "blocked-and-paused", "blocked-and-empty"] {
        letters.push(letter(group, "fail"));
    }
    letters.extend(["blocked", "blocked-and-paused"].map(|group| letter(group, "noop")));
    place.create(&json!(letters).to_string()).await;
    for group in ["blocked", "blocked-and-paused", "blocked-and-empty"] {
        place.until(&format!("/v1/message-groups/{group}"), |group| group["state"] == "blocked").await;
    }
    place.until("/v1/message-groups/runs", |group| group["in_flight"] == true).await;
    for group in ["paused", "paused-line", "blocked-and-paused"] {
        done(place, &format!("/v1/message-groups/{group}/pause"), WHY).await;
    }
    vec![
        "nothing",
        "waits",
        "runs",
        "paused",
        "paused-line",
        "blocked",
        "blocked-and-paused",
        "blocked-and-empty",
    ]
}
