//! What pages say about what is there: the backlog, the light, charts, hosts, trees, branches, decisions, history and versions.

use crate::place::{Place, endless};
use crate::states::{self, done, started};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use store::{Clock, SimClock, SystemClock};
use worker::{Claim, Outcome, Registry, Runner, RunnerConfig};

/// The part of a page between two texts.
fn between<'h>(html: &'h str, from: &str, to: &str) -> &'h str {
    let behind = html.split_once(from).unwrap_or_else(|| panic!("`{from}` is not in {html}")).1;
    behind.split_once(to).unwrap_or_else(|| panic!("`{to}` is not behind `{from}` in {html}")).0
}

#[tokio::test]
async fn how_old_the_backlog_is_and_whether_a_restart_is_safe() {
    let clock = SimClock::at(SystemClock::default().now());
    let place = Place::at(Arc::new(clock.clone()));
    let page = place.get("/step-dispatcher").await;
    assert_eq!(between(page.text(), "id=\"oldest\">", "<"), "nothing waits to start");
    assert_eq!(between(page.text(), "id=\"restart-text\">", "<"), "Not safe to restart");
    place.create(r#"[{"action": "ghost"}]"#).await;
    clock.advance(Duration::from_secs(7_200));
    let view = place.get("/step-dispatcher/api").await.ok();
    assert!(view["oldest_pending_at"].is_string(), "{view}");
    assert_eq!(view["words"]["oldest"], "oldest waiting 2 h");
    let page = place.get("/step-dispatcher").await;
    assert_eq!(between(page.text(), "id=\"oldest\">", "<"), "oldest waiting 2 h");
    done(&place, "/v1/breaker", r#"{"off": true, "why": "deploy"}"#).await;
    let page = place.get("/step-dispatcher").await;
    assert_eq!(between(page.text(), "id=\"restart-text\">", "<"), "Safe to restart");
    assert!(page.text().contains("class=\"light safe\""), "{}", page.text());
    place.close().await;
}

#[tokio::test]
async fn a_chart_shows_the_minute_that_is_over() {
    let clock = SimClock::at(SystemClock::default().now());
    let mut place = Place::at(Arc::new(clock.clone()));
    place.work(|_| {}).await;
    assert!(place.get("/step-dispatcher").await.text().contains("nothing yet"));
    let made = place.create(r#"[{"action": "noop"}, {"action": "fail"}]"#).await;
    place.until_state(&made[0], "completed").await;
    place.until_state(&made[1], "failed").await;
    clock.advance(Duration::from_secs(60));
    // Whatever is written next takes the minute along.
    let last = place.create(r#"[{"action": "ghost"}]"#).await.remove(0);
    place.until_state(&last, "pending").await;
    let page = place.get("/step-dispatcher").await;
    let charts = between(page.text(), "id=\"charts\">", "</section>");
    assert!(
        charts.contains("aria-label=\"Throughput: started ") && !charts.contains("nothing yet"),
        "{charts}"
    );
    for tone in ["line cyan", "line green", "line red", "line purple"] {
        let is_drawn = |path: &str| path.starts_with("\" d=\"M");
        assert!(charts.split(tone).skip(1).any(is_drawn), "{tone} is not drawn: {charts}");
    }
    place.close().await;
}

#[tokio::test]
async fn what_is_throttled_in_the_queue_of_a_host_is_counted_there() {
    let place = Place::open();
    let mut registry = Registry::default();
    registry.raw("limited", async |_: Claim| Outcome::Throttle { after: Duration::from_secs(600) });
    let config = RunnerConfig { host: "here".into(), queues: vec!["here".into()], ..RunnerConfig::default() };
    let runner = Runner::start(place.engine.clone(), registry, config).await.unwrap();
    place.create(r#"[{"action": "limited", "queue": "here"}]"#).await;
    let view = place.until("/step-dispatcher/api", |view: &Value| view["global"]["throttled"] == 1).await;
    let host = &view["hostnames"][0];
    assert_eq!(
        (&host["hostname"], &host["throttled"], &host["pending"]),
        (&json!("here"), &json!(1), &json!(1))
    );
    let page = place.get("/step-dispatcher").await;
    let strip = between(page.text(), "data-host=\"here\"", "</dl>");
    assert_eq!(between(strip, "<dt>Throttled</dt>", "</dd>"), "<dd class=\"orange some\">1");
    runner.stop(Duration::ZERO).await;
    place.close().await;
}

#[tokio::test]
async fn a_step_shows_the_way_down_to_it() {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
        })
        .await;
    let tree = r#"[{"action": "noop", "children": [{"action": "noop", "label": "middle", "children": [{"action": "endless"}]}]}]"#;
    let root = place.create(tree).await.remove(0);
    let below = async |id: &str| {
        let block = place.until(&format!("/v1/steps/{id}"), |step| step["child_block_id"].is_string()).await;
        let of = format!("/v1/steps?block_id={}", block["child_block_id"].as_str().unwrap());
        let listed = place.until(&of, |page| page["steps"][0]["id"].is_string()).await;
        listed["steps"][0]["id"].as_str().unwrap().to_string()
    };
    let middle = below(&root).await;
    let leaf = below(&middle).await;
    let page = place.get(&format!("/step-dispatcher/steps/{leaf}")).await;
    let crumbs = between(page.text(), "class=\"crumbs\"", "</nav>");
    let ways: Vec<&str> = crumbs
        .split("href=\"/step-dispatcher/steps/")
        .skip(1)
        .filter_map(|way| way.split('"').next())
        .collect();
    assert_eq!(ways, [root.as_str(), middle.as_str()], "from the root down");
    assert!(!place.get(&format!("/step-dispatcher/steps/{root}")).await.text().contains("class=\"crumbs\""));
    place.close().await;
}

#[tokio::test]
async fn branches_and_decisions_are_told_and_the_way_that_was_taken_is_drawn() {
    let place = states::open().await;
    let id = started(&place, "parted", json!({}), "failed").await;
    let at = format!("/workflows/{id}");
    let page = place.get(&at).await;
    let branches = between(page.text(), ">Branches</h2>", "</section>");
    assert!(branches.contains("<b>part</b>") && branches.contains("&quot;a&quot;"), "{branches}");
    let graph = between(page.text(), "data-live=\"graph\"", "</svg>");
    let lines =
        ["sf-line is-taken\"", "sf-line is-not-taken\"", "sf-label is-taken\"", "sf-label is-not-taken\""];
    assert_eq!(lines.map(|class| graph.matches(class).count()), [1, 1, 1, 1], "{graph}");
    assert!(between(graph, "sf-label is-taken\"", "</g>").contains(">a</text>"), "{graph}");
    assert!(!page.text().contains(">Decided</h2>"));
    let alone = place.get(&format!("/v1/workflows/{id}/graph")).await;
    assert!(alone.text().contains("sf-line is-taken\"") && alone.text().contains(".is-not-taken"));
    let body = json!({"why": "the bank is back", "by": "anna"}).to_string();
    done(&place, &format!("/v1/workflows/{id}/retry"), body).await;
    let page = place.get(&at).await;
    let decided = between(page.text(), ">Decided</h2>", "</section>");
    assert!(decided.contains("<b>retry</b> by anna") && decided.contains("the bank is back"), "{decided}");
    place.close().await;
}

#[tokio::test]
async fn history_begins_with_what_happened_last() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let steps: String =
        (0..120).map(|n| format!("  - {{ key: s{n}, action: noop, when: has(input.never) }}\n")).collect();
    place.define(format!("workflow: long\nversion: 1.0.0\nsteps:\n{steps}")).await.ok();
    let id = started(&place, "long", json!({}), "succeeded").await;
    let history = async |path: &str| {
        let page = place.get(path).await;
        assert_eq!(page.status, 200, "{}", page.text());
        between(page.text(), "id=\"history\"", "</section>").to_string()
    };
    let newest = history(&format!("/workflows/{id}")).await;
    assert!(between(&newest, "<ol", "</li>").contains("workflow.succeeded"), "{newest}");
    assert!(!newest.contains("workflow.started") && !newest.contains(">Newest<"), "{newest}");
    let older = between(&newest, "?before=", "#history").to_string();
    let oldest = history(&format!("/workflows/{id}?before={older}")).await;
    assert!(oldest.contains("workflow.started") && oldest.contains(">Newest<"), "{oldest}");
    assert!(!oldest.contains("workflow.succeeded") && !oldest.contains(">Older<"), "{oldest}");
    place.get(&format!("/workflows/{id}?before=x")).await.refused(400, "invalid_request");
    place.close().await;
}

#[tokio::test]
async fn workflows_are_found_by_id_and_label_and_versions_say_what_differs() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let definition = |version: &str, more: &str| {
        format!("workflow: order\nversion: {version}\nsteps:\n  - {{ key: check, action: noop }}\n{more}")
    };
    place.define(definition("1.0.0", "")).await.ok();
    place.define(definition("1.1.0", "  - { key: mail, action: echo }\n")).await.ok();
    let start = |team: &str| json!({"workflow": "order", "input": {}, "labels": {"team": team}}).to_string();
    let mut ids = Vec::new();
    for team in ["blue", "red"] {
        ids.push(done(&place, "/v1/workflows", start(team)).await["id"].as_str().unwrap().to_string());
    }
    let found = place.get(&format!("/workflows?workflow={}&label=", ids[0])).await;
    assert_eq!(
        (found.status.as_u16(), found.headers["location"].to_str().unwrap()),
        (303, format!("/workflows/{}", ids[0]).as_str())
    );
    let blue = place.get("/workflows?workflow=&label=team%3Ablue").await;
    assert!(blue.text().contains(&ids[0]) && !blue.text().contains(&ids[1]), "{}", blue.text());
    for (path, told) in [
        ("/definitions/order/1.1.0?against=1.0.0", "<li>+ step <code>mail</code>"),
        ("/definitions/order/1.0.0?against=1.1.0", "<li>- step <code>mail</code>"),
        ("/definitions/order/1.1.0?against=1.1.0", "They say the same."),
    ] {
        let page = place.get(path).await;
        let versions = between(page.text(), "aria-label=\"Versions\"", "</section>");
        assert!(versions.contains(told), "{versions}");
    }
    place.close().await;
}
