//! What a page offers is what would not be refused, whatever state a thing is in: each verb is tried, offered or not.

use crate::place::Place;
use crate::states;
use serde_json::{Value, json};

const WORKFLOW_VERBS: [&str; 8] = [
    "pause",
    "resume",
    "retry",
    "compensate",
    "retry_compensation",
    "skip_compensation",
    "mark_resolved",
    "cancel",
];
const STEP_VERBS: [&str; 6] = ["complete", "skip", "fail", "stop", "cancel", "retry"];
const FLOW_VERBS: [&str; 2] = ["retry", "cancel"];
const GROUP_VERBS: [&str; 7] = ["pause", "resume", "skip-head", "requeue", "ignore", "cancel", "unblock"];

/// The values of an attribute, as they stand on a page.
fn values<'h>(html: &'h str, attribute: &str) -> Vec<&'h str> {
    let begins = format!("{attribute}=\"");
    html.split(begins.as_str()).skip(1).filter_map(|part| part.split('"').next()).collect()
}

/// Those that stand on the page of it, and the page.
async fn offered(place: &Place, path: &str) -> (Vec<String>, String) {
    let page = place.get(path).await;
    assert_eq!(page.status, 200, "{path}: {}", page.text());
    let verbs = values(page.text(), "data-verb").into_iter().map(String::from).collect();
    (verbs, page.text().to_string())
}

/// Whether it would be done; what it says if not.
async fn tried(place: &Place, path: &str, body: Value) -> Result<(), String> {
    let answer = place.post(&format!("{path}?dry_run=true"), body.to_string()).await;
    match answer.status.as_u16() {
        200 => Ok(()),
        409 => Err(answer.json()["detail"].to_string()),
        other => panic!("{path}: {other} {}", answer.text()),
    }
}

#[tokio::test]
async fn a_workflow_is_offered_what_would_not_be_refused_and_nothing_else() {
    let place = states::open().await;
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for (name, id) in states::workflows(&place).await {
        let (on_page, html) = offered(&place, &format!("/workflows/{id}")).await;
        let at = format!("/v1/workflows/{id}");
        for verb in WORKFLOW_VERBS {
            let force = verb == "resume" && html.contains("data-force");
            let would = tried(&place, &format!("{at}/{verb}"), json!({"force": force})).await;
            if would.is_ok() != on_page.iter().any(|one| one == verb) {
                wrong.push(format!("{name}: {verb}: {would:?}, on the page {on_page:?}"));
            }
            looked += 1;
        }
        let steps = html.split("id=\"from-step\"").nth(1).and_then(|part| part.split("</select>").next());
        let from = steps.map(|part| values(part, "value")).unwrap_or_default();
        for step in place.get(&at).await.ok()["steps"].as_array().unwrap() {
            let key = step["key"].as_str().unwrap();
            let body = json!({"decision": "retry_from_step", "step": key, "mode": "retry_only"});
            let would = tried(&place, &format!("{at}/resolve"), body).await;
            if would.is_ok() != from.contains(&key) {
                wrong.push(format!("{name}: from {key}: {would:?}, on the page {from:?}"));
            }
            looked += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {looked}:\n{}", wrong.len(), wrong.join("\n"));
    println!("{looked} verbs tried");
    place.close().await;
}

#[tokio::test]
async fn the_cases_that_were_wrong_are_right() {
    let place = states::open().await;
    let all = states::workflows(&place).await;
    let page = async |name: &str| offered(&place, &format!("/workflows/{}", all[name])).await;
    assert_eq!(page("running").await.0, ["pause", "cancel"], "nothing of it can be undone");
    assert_eq!(page("running and undoable").await.0, ["pause", "compensate", "cancel"]);
    assert_eq!(page("failed").await.0, ["retry", "mark_resolved", "cancel", "retry_from_step"]);
    assert_eq!(
        page("failed and undoable").await.0,
        ["retry", "compensate", "mark_resolved", "cancel", "retry_from_step"]
    );
    assert_eq!(
        page("failed, but none of its steps").await.0,
        ["mark_resolved", "cancel", "retry_from_step"],
        "there is nothing to retry"
    );
    assert_eq!(page("not undone").await.0, ["retry_compensation", "skip_compensation"]);
    assert_eq!(page("succeeded").await.0, [""; 0]);
    assert!(page("running").await.1.contains("what was done stays done"));
    assert!(page("running and undone when cancelled").await.1.contains("undo what was done, the last first"));
    place.close().await;
}

#[tokio::test]
async fn a_step_is_offered_what_would_not_be_refused_and_nothing_else() {
    let place = states::open().await;
    let mut all = states::steps(&place).await;
    let workflows = states::workflows(&place).await;
    for (of, name) in [("failed", "failed in a workflow"), ("polls", "polls in a workflow")] {
        let workflow = &workflows[of];
        let shown = place.get(&format!("/v1/workflows/{workflow}")).await.ok();
        let last = shown["steps"].as_array().unwrap().iter().rfind(|step| step["step_id"].is_string());
        all.insert(name, last.unwrap()["step_id"].as_str().unwrap().to_string());
    }
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for (name, id) in &all {
        let (on_page, _) = offered(&place, &format!("/step-dispatcher/steps/{id}")).await;
        for verb in STEP_VERBS {
            let would = tried(&place, &format!("/v1/steps/{id}/{verb}"), json!({})).await;
            if would.is_ok() != on_page.iter().any(|one| one == verb) {
                wrong.push(format!("{name}: {verb}: {would:?}, on the page {on_page:?}"));
            }
            looked += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {looked}:\n{}", wrong.len(), wrong.join("\n"));
    let page = async |name: &str| offered(&place, &format!("/step-dispatcher/steps/{}", all[name])).await.0;
    assert_eq!(page("a child of one that failed").await, [""; 0], "its parent has ended");
    assert_eq!(page("a child that failed").await, ["retry"]);
    assert_eq!(page("failed in a workflow").await, [""; 0], "its workflow decides");
    assert!(!page("waits for a resolver").await.contains(&"complete".to_string()));
    println!("{looked} verbs tried");
    place.close().await;
}

#[tokio::test]
async fn a_message_group_is_offered_what_would_not_be_refused_and_nothing_else() {
    let place = states::open().await;
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for group in states::message_groups(&place).await {
        let (on_page, _) = offered(&place, &format!("/message-groups/{group}")).await;
        for verb in GROUP_VERBS {
            let would = tried(&place, &format!("/v1/message-groups/{group}/{verb}"), json!({})).await;
            if would.is_ok() != on_page.iter().any(|one| one == verb) {
                wrong.push(format!("{group}: {verb}: {would:?}, on the page {on_page:?}"));
            }
            looked += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {looked}:\n{}", wrong.len(), wrong.join("\n"));
    let (on_page, _) = offered(&place, "/message-groups/blocked").await;
    assert!(on_page.contains(&"unblock".to_string()), "a failure alone can be let go: {on_page:?}");
    println!("{looked} verbs tried");
    place.close().await;
}

/// A flow with what it declares, taken to a state.
async fn flow(place: &Place, declares: &[&str], state: &str) -> String {
    let name = format!("{} {state}", declares.join("-"));
    let mut body = json!({"type": "payment", "entity_id": name, "steps": ["debited"]});
    for verb in declares {
        body[*verb] = json!({"action": "ghost"});
    }
    let id = states::done(place, "/v1/flows", body.to_string()).await["flow"]["id"].clone();
    let id = id.as_str().unwrap().to_string();
    let (at, of) = match state {
        "pending" => return id,
        "running" => (format!("/v1/flows/{id}/state"), json!({"state": "running"})),
        "superseded" => {
            body["again"] = json!("new");
            ("/v1/flows".into(), body)
        }
        "completed" => (format!("/v1/flows/{id}/steps/debited/complete"), json!({})),
        other => (format!("/v1/flows/{id}/finish"), json!({"state": other})),
    };
    states::done(place, &at, of.to_string()).await;
    id
}

#[tokio::test]
async fn a_flow_is_offered_what_would_not_be_refused_and_nothing_else() {
    let place = Place::open();
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for state in ["pending", "running", "failed", "completed", "cancelled", "superseded"] {
        for declares in [&[][..], &["retry"], &["cancel"], &["retry", "cancel"]] {
            let id = flow(&place, declares, state).await;
            assert_eq!(place.get(&format!("/v1/flows/{id}")).await.ok()["flow"]["state"], state);
            let (on_page, _) = offered(&place, &format!("/flows/{id}")).await;
            for verb in FLOW_VERBS {
                let would = tried(&place, &format!("/v1/flows/{id}/{verb}"), json!({})).await;
                if would.is_ok() != on_page.iter().any(|one| one == verb) {
                    wrong.push(format!(
                        "{state} with {declares:?}: {verb}: {would:?}, on the page {on_page:?}"
                    ));
                }
                looked += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {looked}:\n{}", wrong.len(), wrong.join("\n"));
    println!("{looked} verbs tried");
    place.close().await;
}
