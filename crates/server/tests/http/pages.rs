use crate::place::{Place, endless};
use axum::body::Body;
use axum::http::Request;
use std::time::Duration;
use worker::{Claim, Outcome};

const PLANTED: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>\\\"'&";

/// Nothing of what was planted is markup.
fn assert_tame(html: &str) {
    for markup in ["<script>alert", "<img src=x", "\"'&<"] {
        assert!(!html.contains(markup), "{markup} is in the page");
    }
}

#[tokio::test]
async fn the_root_leads_to_the_page() {
    let place = Place::open();
    let answer = place.get("/").await;
    assert_eq!(
        (answer.status.as_u16(), answer.headers["location"].to_str().unwrap()),
        (303, "/step-dispatcher")
    );
    place.close().await;
}

#[tokio::test]
async fn the_figures_are_those_of_the_spec() {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
            registry.raw("limited", async |_: Claim| Outcome::Throttle { after: Duration::from_secs(600) });
        })
        .await;
    let made = place
        .create(
            r#"[{"action": "noop", "children": [{"action": "endless"}, {"action": "noop", "index": 2}]},
                {"action": "limited"}, {"action": "ghost"}, {"action": "fail"}]"#,
        )
        .await;
    place.until_state(&made[3], "failed").await;
    let settled =
        |view: &serde_json::Value| view["global"]["throttled"] == 1 && view["global"]["child_running"] == 1;
    let view = place.until("/step-dispatcher/api", settled).await;
    let global = &view["global"];
    assert_eq!((&global["running"], &global["child_running"]), (&2.into(), &1.into()), "the parent waits");
    assert_eq!((&global["pending"], &global["child_pending"]), (&3.into(), &3.into()));
    assert_eq!((&global["failed"], &global["completed"]), (&1.into(), &0.into()));
    let actions: Vec<&str> =
        view["actions"].as_array().unwrap().iter().map(|a| a["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["endless", "noop"], "only what is in flight is active");
    let host = &view["hostnames"][0];
    assert_eq!(
        (&host["hostname"], &host["online"], &host["failed"]),
        (&"worker1".into(), &true.into(), &1.into())
    );
    assert_eq!((&view["version"], &view["can_dispatch_steps"]), (&"1.2.3".into(), &true.into()));
    assert_eq!((&view["safe_to_restart"], &view["in_flight"]), (&false.into(), &1.into()));
    assert_eq!(view["dispatch_groups"].as_array().unwrap().len(), 10);
    let html = place.get("/step-dispatcher").await;
    assert_eq!(html.headers["content-type"], "text/html; charset=utf-8");
    for text in [
        "v1.2.3",
        "data-figure=\"child_running\">1<",
        "Throttled",
        "endless",
        "worker1",
        "kappa",
        "Not safe to restart",
    ] {
        assert!(html.text().contains(text), "{text} is not in {}", html.text());
    }
    place.close().await;
}

#[tokio::test]
async fn text_from_outside_is_never_markup() {
    let mut place = Place::open();
    let action = PLANTED.replace("\\\"", "\"");
    place
        .work(|registry| {
            registry.raw(&action, endless);
        })
        .await;
    let made = place
        .create(&format!(
            r#"[{{"action": "{PLANTED}", "label": "{PLANTED}"}},
                {{"action": "fail", "label": "{PLANTED}", "step_key": "{PLANTED}", "arguments": {{"message": "{PLANTED}"}}}},
                {{"action": "ghost", "message_group": "{PLANTED}", "mode": "block_on_error"}}]"#
        ))
        .await;
    place.until_state(&made[0], "running").await;
    place.until_state(&made[1], "failed").await;
    place
        .post("/v1/breaker", format!(r#"{{"off": true, "why": "{PLANTED}", "by": "{PLANTED}"}}"#))
        .await
        .ok();
    let steps = [0, 1, 2].map(|i| format!("/step-dispatcher/steps/{}", made[i]));
    let name = "%3Cscript%3Ealert(1)%3C%2Fscript%3E%3Cimg%20src%3Dx%20onerror%3Dalert(2)%3E%22%27%26";
    let pause = format!(r#"{{"why": "{PLANTED}", "by": "{PLANTED}"}}"#);
    place.post(&format!("/v1/message-groups/{name}/pause"), pause).await.ok();
    let group = format!("/message-groups/{name}");
    let paths = ["/step-dispatcher", "/step-dispatcher/steps", "/message-groups"];
    for path in paths.into_iter().chain(steps.iter().map(String::as_str)).chain([group.as_str()]) {
        let html = place.get(path).await;
        assert_eq!(html.status, 200);
        assert!(html.text().contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{path} does not show it");
        assert_tame(html.text());
    }
    let html = place.get("/step-dispatcher/steps?action=%22%3E%3Cscript%3Ealert(1)%3C/script%3E").await;
    assert_tame(html.text());
    place.close().await;
}

#[tokio::test]
async fn steps_are_listed_and_shown_for_people() {
    let place = Place::open();
    let made = place
        .create(r#"[{"action": "ghost", "label": "first"}, {"action": "ghost", "label": "second"}]"#)
        .await;
    let list = place.get("/step-dispatcher/steps?state=pending&limit=1").await;
    assert!(list.text().contains("second") && !list.text().contains("first"));
    assert!(
        list.text().contains("Older steps") && list.text().contains("state=pending&amp;limit=1&amp;after=")
    );
    let list = place.get("/step-dispatcher/steps?status=pending&limit=1").await;
    assert!(
        list.text().contains("status=pending&amp;limit=1&amp;after="),
        "the next page is of the same status"
    );
    assert!(list.text().contains("?state=failed&amp;limit=1\""), "a chip chooses anew: {}", list.text());
    let shown = place.get(&format!("/step-dispatcher/steps/{}", made[0])).await;
    let said = "no worker offers action <code>ghost</code> on queue <code>default</code>";
    assert!(shown.text().contains(said), "{}", shown.text());
    place.get("/step-dispatcher/steps/00000000-0000-0000-0000-000000000001").await.refused(404, "not_found");
    place.close().await;
}

#[tokio::test]
async fn message_groups_are_listed_and_shown_for_people() {
    let mut place = Place::open();
    let nothing = place.get("/message-groups").await;
    assert!(nothing.text().contains("No message group has anything to do, and none is held back."));
    place.work(|_| {}).await;
    let made = place
        .create(
            r#"[{"action": "fail", "message_group": "a/7", "mode": "block_on_error"},
                {"action": "noop", "message_group": "a/7", "mode": "block_on_error", "label": "behind it"},
                {"action": "ghost", "message_group": "b", "mode": "next_on_error"}]"#,
        )
        .await;
    place.until("/v1/message-groups/a%2F7", |group| group["state"] == "blocked").await;
    let pause = r#"{"why": "stock is counted", "by": "anna"}"#;
    place.post("/v1/message-groups/b/pause", pause).await.ok();
    let list = place.get("/message-groups").await;
    let blocked = format!("by step {}, which failed: job failed", made[0]);
    let first = "1 in line · none in flight · block on error · ";
    for text in
        [first, &blocked, "href=\"/message-groups/a%2F7\"", "UTC by anna: stock is counted", "next on error"]
    {
        assert!(list.text().contains(text), "{text} is not in {}", list.text());
    }
    let page = place.get("/message-groups?limit=1").await;
    assert!(page.text().contains("href=\"/message-groups?after=a%2F7&amp;limit=1\""), "{}", page.text());
    let shown = place.get("/message-groups/a%2F7").await;
    let step = |i: usize| format!("href=\"/step-dispatcher/steps/{}\"", made[i]);
    for text in [&blocked, "behind it", &step(0), &step(1), "data-at=\"/v1/message-groups/a%2F7\""] {
        assert!(shown.text().contains(text), "{text} is not in {}", shown.text());
    }
    let back = place.get(&format!("/step-dispatcher/steps/{}", made[1])).await;
    assert!(back.text().contains("href=\"/message-groups/a%2F7\""), "{}", back.text());
    place.close().await;
}

/// The verbs that a page offers.
fn verbs(html: &str) -> Vec<&str> {
    html.split("data-verb=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[tokio::test]
async fn a_message_group_offers_what_can_be_done_to_whoever_may_do_it() {
    let mut place = Place::open();
    let page = place.get("/message-groups/a").await;
    assert!(page.status.is_success() && page.text().contains("idle"), "one may come and go at any time");
    assert_eq!(verbs(page.text()), ["pause"]);
    place.create(r#"[{"action": "ghost", "message_group": "a", "mode": "block_on_error"}]"#).await;
    assert_eq!(verbs(place.get("/message-groups/a").await.text()), ["pause", "skip-head", "cancel"]);
    place.post("/v1/message-groups/a/pause", "{}").await.ok();
    assert_eq!(
        verbs(place.get("/message-groups/a").await.text()),
        ["resume", "skip-head", "cancel", "unblock"]
    );
    place.work(|_| {}).await;
    place.create(r#"[{"action": "fail", "message_group": "b", "mode": "block_on_error"}]"#).await;
    place.until("/v1/message-groups/b", |group| group["state"] == "blocked").await;
    let blocked = ["pause", "skip-head", "requeue", "ignore", "cancel", "unblock"];
    assert_eq!(verbs(place.get("/message-groups/b").await.text()), blocked);
    place.post("/v1/message-groups/b/pause", "{}").await.ok();
    let both = ["resume", "skip-head", "requeue", "ignore", "cancel", "unblock"];
    assert_eq!(verbs(place.get("/message-groups/b").await.text()), both);
    for (role, sees) in [("viewer", &[] as &[&str]), ("operator", &both)] {
        let (key, _) = place.key(role).await;
        let request = Request::get("/message-groups/b").header("host", "localhost:7837");
        let request = request.header("authorization", format!("Bearer {key}")).body(Body::empty()).unwrap();
        let page = place.send(request).await;
        assert_eq!(verbs(page.text()), sees, "{role}");
        assert_eq!(page.text().contains("message-group.js"), !sees.is_empty(), "{role}");
    }
    place.close().await;
}

#[tokio::test]
async fn a_page_has_no_script_or_style_of_its_own() {
    let place = Place::open();
    place.create(r#"[{"action": "ghost", "message_group": "a", "mode": "block_on_error"}]"#).await;
    for path in ["/step-dispatcher", "/step-dispatcher/steps", "/message-groups", "/message-groups/a"] {
        let html = place.get(path).await;
        assert!(
            !html.text().contains("style=")
                && !html.text().contains("<style")
                && !html.text().contains(" onclick")
        );
        assert!(!html.text().contains("<script>"));
    }
    for script in ["step-dispatcher.js", "message-group.js"] {
        let script = place.get(&format!("/assets/{script}")).await;
        assert_eq!(script.headers["content-type"], "text/javascript; charset=utf-8");
        assert!(!script.text().contains("innerHTML"));
    }
    assert_eq!(place.get("/assets/page.css").await.headers["content-type"], "text/css; charset=utf-8");
    place.get("/assets/..%2FCargo.toml").await.refused(404, "not_found");
    place.close().await;
}

#[tokio::test]
async fn the_audit_leads_back_to_its_beginning() {
    let place = Place::open();
    for name in ["first", "second", "third"] {
        place.post("/v1/pools", format!(r#"{{"name": "{name}", "concurrency": 1}}"#)).await.ok();
    }
    let (mut path, mut seen) = ("/audit?limit=1".to_string(), Vec::new());
    loop {
        let page = place.get(&path).await;
        seen.extend(
            ["first", "second", "third"]
                .into_iter()
                .filter(|name| page.text().contains(&format!("pool {name}"))),
        );
        let Some(link) = page.text().split("href=\"/audit?after=").nth(1) else { break };
        path = format!("/audit?after={}", link.split('"').next().unwrap().replace("&amp;", "&"));
        assert!(path.ends_with("&limit=1"), "{path}");
    }
    assert_eq!(seen, ["third", "second", "first"]);
    place.get("/audit?after=nowhere").await.refused(400, "invalid_request");
    place.close().await;
}
