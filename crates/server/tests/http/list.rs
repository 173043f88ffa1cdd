use crate::place::Place;
use serde_json::Value;
use store::{Clock, SystemClock};

fn keys(page: &Value) -> Vec<&str> {
    page["steps"].as_array().unwrap().iter().map(|s| s["step_key"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn pages_follow_each_other_without_gap_or_repeat() {
    let place = Place::open();
    let steps: Vec<String> =
        (1..=7).map(|n| format!(r#"{{"action": "ghost", "step_key": "k{n}"}}"#)).collect();
    place.create(&format!("[{}]", steps.join(","))).await;
    let (mut seen, mut path) = (Vec::new(), "/v1/steps?limit=3".to_string());
    let mut sizes = Vec::new();
    loop {
        let page = place.get(&path).await.ok();
        sizes.push(keys(&page).len());
        seen.extend(keys(&page).into_iter().map(String::from));
        // What comes meanwhile is newer than any page that follows.
        place.create(r#"[{"action": "ghost", "step_key": "late"}]"#).await;
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/steps?limit=3&after={next}");
    }
    assert_eq!(seen, ["k7", "k6", "k5", "k4", "k3", "k2", "k1"]);
    assert_eq!(sizes, [3, 3, 1]);
    place.close().await;
}

#[tokio::test]
async fn a_page_that_is_just_full_is_the_last() {
    let place = Place::open();
    place.create(r#"[{"action": "ghost"}, {"action": "ghost"}]"#).await;
    let page = place.get("/v1/steps?limit=2").await.ok();
    assert_eq!((page["steps"].as_array().unwrap().len(), &page["next"]), (2, &Value::Null));
    place.close().await;
}

#[tokio::test]
async fn filters_narrow_the_list() {
    let place = Place::open();
    let made = place
        .create(
            r#"[{"action": "a", "step_key": "one", "relatable_type": "order", "relatable_id": "7", "dispatch_group": "kappa"},
                {"action": "b", "step_key": "two", "queue": "priority"},
                {"action": "b", "step_key": "three", "children": [{"action": "c", "step_key": "child"}]}]"#,
        )
        .await;
    let listed = async |query: &str| {
        let page = place.get(&format!("/v1/steps?{query}")).await.ok();
        keys(&page).join(" ")
    };
    assert_eq!(listed("action=b").await, "three two");
    assert_eq!(listed("queue=priority").await, "two");
    assert_eq!(listed("dispatch_group=kappa").await, "one");
    assert_eq!(listed("step_key=one").await, "one");
    assert_eq!(listed("relatable_type=order&relatable_id=7").await, "one");
    assert_eq!(listed("state=pending,running&action=a").await, "one");
    assert_eq!(listed("state=failed").await, "");
    let block = place.step(&made[2]).await["child_block_id"].as_str().unwrap().to_string();
    let page = place.get(&format!("/v1/steps?block_id={block}")).await.ok();
    assert_eq!(page["steps"][0]["parent_step_id"], made[2]);
    assert_eq!(keys(&page), ["child"]);

    place.post("/v1/pools", r#"{"name": "card", "concurrency": 1}"#).await.ok();
    place
        .create(
            r#"[{"action": "ghost", "step_key": "line", "message_group": "m", "mode": "block_on_error"},
                {"action": "ghost", "step_key": "pooled", "pool": "card"}]"#,
        )
        .await;
    place
        .define("workflow: w\nversion: 1.0.0\nsteps: [{ key: x, action: ghost, each: '[1, 2]' }]")
        .await
        .ok();
    let workflow = place.start("w", serde_json::json!({})).await;
    place.start("w", serde_json::json!({})).await;
    assert_eq!(listed("message_group=m").await, "line");
    assert_eq!(listed("pool=card").await, "pooled");
    let of = place.get(&format!("/v1/steps?workflow_id={workflow}")).await.ok();
    assert_eq!(of["steps"].as_array().unwrap().len(), 3, "the fan-out and its two items: {of}");
    place.get("/v1/steps?workflow_id=7").await.refused(400, "invalid_request");
    place.close().await;
}

/// One step of each end that a person can bring about, one that expired and one that waits, each with its end as its key.
async fn one_of_each(place: &Place) {
    for verb in ["complete", "skip", "fail", "stop", "cancel"] {
        let made = place.create(&format!(r#"[{{"action": "ghost", "step_key": "{verb}"}}]"#)).await;
        place.post(&format!("/v1/steps/{}/{verb}", made[0]), r#"{"why": "x"}"#).await.ok();
    }
    let made = place.create(r#"[{"action": "ghost", "step_key": "again"}]"#).await;
    for verb in ["fail", "retry"] {
        place.post(&format!("/v1/steps/{}/{verb}", made[0]), r#"{"why": "x"}"#).await.ok();
    }
    let soon = SystemClock::default().now().0 + 1_000_000;
    let expires = format!(r#"[{{"action": "ghost", "step_key": "expired", "expires_at": {soon}}}]"#);
    let expired = place.create(&expires).await;
    place.until_state(&expired[0], "cancelled").await;
}

#[tokio::test]
async fn a_status_is_asked_for_as_it_is_told() {
    let place = Place::open();
    one_of_each(&place).await;
    let listed = async |query: &str| {
        let page = place.get(&format!("/v1/steps?{query}")).await.ok();
        keys(&page).join(" ")
    };
    assert_eq!(listed("status=PENDING").await, "again", "what took the place of another");
    assert_eq!(listed("status=QUEUED,PROCESSING").await, "");
    assert_eq!(listed("status=COMPLETED").await, "skip complete");
    assert_eq!(listed("status=ERROR").await, "stop fail");
    assert_eq!(listed("status=CANCELLED").await, "again cancel");
    assert_eq!(listed("status=EXPIRED").await, "expired");
    assert_eq!(listed("status=cancelled,expired").await, "expired again cancel");
    assert_eq!(listed("status=failed").await, "stop fail");
    assert_eq!(listed("status=in_progress").await, "");
    assert_eq!(listed("status=cancelled&state=cancelled").await, "cancel", "both narrow the list");
    assert_eq!(listed("status=ERROR&state=cancelled").await, "");
    let all = place.get("/v1/steps").await.ok();
    let mut seen = 0;
    for status in model::Status::ALL {
        let page = place.get(&format!("/v1/steps?status={status}")).await.ok();
        let steps = page["steps"].as_array().unwrap();
        assert!(steps.iter().all(|step| step["status"] == status.word()), "{page}");
        seen += steps.len();
    }
    assert_eq!(seen, all["steps"].as_array().unwrap().len(), "every step has one status");
    place.close().await;
}

#[tokio::test]
async fn what_is_not_understood_is_refused_with_what_is() {
    let place = Place::open();
    let told = async |query: &str| {
        let problem = place.get(&format!("/v1/steps?{query}")).await.refused(400, "invalid_request");
        problem["detail"].as_str().unwrap().to_string()
    };
    assert!(
        told("colour=red")
            .await
            .contains("unknown field `colour`, expected one of `state`, `status`, `action`")
    );
    assert!(
        told("state=runing").await.contains("expected one of not_runnable, pending, dispatched, running")
    );
    assert_eq!(
        told("status=ERROR,done").await,
        "status: `done` is not a status; expected one of PENDING, QUEUED, PROCESSING, COMPLETED, ERROR, CANCELLED, EXPIRED"
    );
    assert!(told("limit=0").await.contains("not between 1 and 1000"));
    assert!(told("limit=many").await.contains("limit"));
    assert!(told("after=x").await.contains("after: `x` is not understood"));
    assert!(told("block_id=x").await.contains("block_id: `x` is not understood"));
    place.close().await;
}

#[tokio::test]
async fn a_page_of_large_payloads_ends_early() {
    let place = Place::open();
    let one = format!(r#"{{"action": "ghost", "arguments": "{}"}}"#, "x".repeat((1 << 20) - 10));
    let steps = vec![one; 12].join(",");
    place.create(&format!("[{steps}]")).await;
    let page = place.get("/v1/steps").await.ok();
    let first = page["steps"].as_array().unwrap().len();
    assert!((8..12).contains(&first), "{first}");
    let rest = place.get(&format!("/v1/steps?after={}", page["next"].as_str().unwrap())).await.ok();
    assert_eq!((rest["steps"].as_array().unwrap().len(), &rest["next"]), (12 - first, &Value::Null));
    place.close().await;
}
