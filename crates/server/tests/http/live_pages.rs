//! Pages that are kept live: by what the server tells, and without taking anything out of anybody's hands.

use crate::browser::Browser;
use crate::every_page::serve;
use crate::place::Place;
use crate::showcase::{Showcase, everything};
use axum::http::Method;
use serde_json::json;
use std::collections::BTreeSet;
use stepfast_server as server;

/// Pages on which nothing changes, and one that has a script of its own for its figures.
const NOT_KEPT: [&str; 8] = [
    "/step-dispatcher",
    "/docs/api",
    "/docs/errors",
    "/docs/errors/{code}",
    "/sign-in",
    // Forms that somebody is filling in.
    "/waiting/{workflow_id}/{trigger_key}",
    "/approve/{workflow_id}/{trigger_key}",
    "/nothing",
];
/// What programs ask for.
const FOR_PROGRAMS: [&str; 10] = [
    "/",
    "/livez",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/definition.schema.json",
    "/step-dispatcher/api",
    "/step-dispatcher/live",
    "/assets/graph.css",
    "/assets/{name}",
];

/// Nothing is asked for from time to time: whatever comes, comes because the server told of it.
const UNTIMED: &str = "(() => {
    const [later, ask] = [window.setTimeout.bind(window), window.fetch.bind(window)];
    window.setTimeout = (work, ms, ...rest) => (ms === 3000 ? 0 : later(work, ms, ...rest));
    window.asked = 0;
    window.fetch = (...what) => { window.asked += 1; return ask(...what); };
})()";

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_read_again_because_the_server_told_of_something_new() {
    let place = Place::open();
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.before_each(UNTIMED);
    browser.open(&format!("{url}/step-dispatcher/steps"));
    browser.until("document.documentElement.dataset.live === 'yes'");
    assert_eq!(browser.eval("document.querySelectorAll('.rows li').length"), 0, "what was there is read");
    let before = browser.eval("window.asked").as_u64().unwrap();
    place.create(r#"[{"action": "ghost", "label": "<b>late</b>"}]"#).await;
    browser.until("document.querySelector('.rows .what')?.textContent === 'ghost <b>late</b>'");
    let after = browser.eval("window.asked").as_u64().unwrap();
    println!("asked {before} times before and {after} times after");
    assert!(after > before);
    assert_eq!(browser.complaints(), [""; 0]);
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_and_asked_stays_while_the_page_changes() {
    let place = Place::open();
    place.create(r#"[{"action": "ghost", "message_group": "a", "mode": "block_on_error"}]"#).await;
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/message-groups/a"));
    browser.eval("document.querySelector('[data-verb=cancel]').click()");
    browser.until("document.getElementById('told').textContent.startsWith('Say why first')");
    assert_eq!(browser.eval("document.activeElement.id"), "why", "it would be refused without");
    browser.eval("document.getElementById('why').value = 'not wanted'");
    browser.eval("document.querySelector('[data-verb=cancel]').click()");
    browser.until("!document.getElementById('sure').hidden");
    place.create(r#"[{"action": "ghost", "message_group": "a", "mode": "block_on_error"}]"#).await;
    browser.until("document.querySelectorAll('[data-live=line] .rows li').length === 2");
    place.post("/v1/message-groups/a/pause", "{}").await.ok();
    // Other buttons are offered now, and what was asked still can be done.
    browser.until("document.querySelector('[data-verb=resume]') !== null");
    let stays = "[document.getElementById('why').value, document.getElementById('sure').hidden, document.activeElement.id]";
    assert_eq!(browser.eval(stays), serde_json::json!(["not wanted", false, "do"]));
    browser.eval("document.getElementById('do').click()");
    browser.until("document.querySelector('[data-verb=cancel]') === null && document.querySelector('[data-verb=resume]') !== null");
    assert_eq!(browser.complaints(), [""; 0]);
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_that_came_later_does_what_it_says() {
    let place = Place::open();
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/pools"));
    browser.eval("document.getElementById('name').value = 'half writ'");
    place.post("/v1/pools", r#"{"name": "card", "concurrency": 1}"#).await.ok();
    browser.until("document.querySelector('button[data-post$=remove]') !== null");
    assert_eq!(browser.eval("document.getElementById('name').value"), "half writ");
    browser.eval("document.querySelector('button[data-post$=remove]').click()");
    browser.until("document.getElementById('sure').open");
    browser.eval("document.getElementById('sure-why').value = 'the card is gone'");
    browser.eval("document.getElementById('sure-do').click()");
    browser.until("document.querySelector('button[data-post$=remove]') === null && document.querySelector('.empty') !== null");
    assert_eq!(place.get("/v1/pools").await.ok()["pools"], serde_json::json!([]));
    place.close().await;
}

/// Nobody looks at the page until `isUnseen` says otherwise; what it asks for, listens to and means to ask for is counted.
const UNSEEN: &str = "(() => {
    const [later, ask, Source] = [window.setTimeout.bind(window), window.fetch.bind(window), window.EventSource];
    Object.assign(window, { isUnseen: true, asked: 0, heard: 0, waits: 0 });
    Object.defineProperty(document, 'hidden', { get: () => window.isUnseen });
    window.setTimeout = (work, ms, ...rest) => { if (ms >= 3000) window.waits += 1; return later(work, ms, ...rest); };
    window.fetch = (...what) => { window.asked += 1; return ask(...what); };
    window.EventSource = class extends Source { constructor(...of) { super(...of); window.heard += 1; } };
})()";

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_that_nobody_looks_at_asks_for_nothing_and_is_there_when_somebody_does() {
    let place = Place::open();
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.before_each(UNSEEN);
    for path in ["/step-dispatcher", "/step-dispatcher/steps"] {
        browser.open(&format!("{url}{path}"));
        let asked = browser.eval("[window.asked, window.heard, window.waits]");
        assert_eq!(asked, json!([0, 0, 0]), "{path}");
        place.create(r#"[{"action": "ghost"}]"#).await;
        browser.eval("window.isUnseen = false; document.dispatchEvent(new Event('visibilitychange'))");
        browser.until(
            "document.documentElement.dataset.live === 'yes' && window.heard === 1 && window.waits > 0",
        );
        browser.until("document.querySelector('[data-figure=pending]')?.textContent === '1' || document.querySelectorAll('.rows li').length === 2");
        assert_eq!(browser.complaints(), [""; 0], "{path}");
    }
    place.close().await;
}

/// Whether a path is one of a route.
fn is_of(path: &str, route: &str) -> bool {
    let parts = |text: &str| text.split('/').map(String::from).collect::<Vec<_>>();
    let (path, route) = (parts(path.split('?').next().unwrap()), parts(route));
    path.len() == route.len() && path.iter().zip(&route).all(|(one, of)| one == of || of.starts_with('{'))
}

#[tokio::test]
async fn every_page_that_can_change_is_kept_up_to_date() {
    let Showcase { place, pages, .. } = everything().await;
    let routes = server::routes();
    let routes = routes.iter().filter(|route| route.method == Method::GET && !route.path.starts_with("/v1/"));
    let mut routes: Vec<&str> = routes.map(|route| route.path).collect();
    routes.push("/nothing");
    // Of two that fit, the one that says more.
    routes.sort_by_key(|route| route.matches('{').count());
    let (mut looked, mut wrong) = (BTreeSet::new(), Vec::new());
    for path in &pages {
        let route = *routes.iter().find(|route| is_of(path, route)).unwrap();
        let page = place.get(path).await;
        let (is_kept, may_not) = (page.text().contains(" data-live=\""), NOT_KEPT.contains(&route));
        let tells = page.text().contains("id=\"lost\"");
        if is_kept == may_not || is_kept != tells && route != "/step-dispatcher" {
            wrong.push(format!("{path}: kept: {is_kept}, and says when it is not: {tells}"));
        }
        looked.insert(route);
    }
    let missed = routes.iter().filter(|route| {
        !looked.contains(*route) && !NOT_KEPT.contains(route) && !FOR_PROGRAMS.contains(route)
    });
    wrong.extend(missed.map(|route| format!("{route}: nobody looked at it")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{} pages of {} kinds looked at", pages.len(), looked.len());
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_only_looks_at_a_failed_step_sees_that_somebody_does_it_again() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let made = place.create(r#"[{"action": "fail"}]"#).await;
    place.until_state(&made[0], "failed").await;
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/step-dispatcher/steps/{}", made[0]));
    browser.eval("window.isOld = true");
    assert_eq!(browser.eval("document.querySelector('[data-over]') === null"), true, "it can be retried");
    place.post(&format!("/v1/steps/{}/retry", made[0]), "{}").await.ok();
    browser.until("window.isOld && document.querySelector('h1 .state').textContent === 'superseded'");
    browser.until("document.querySelector('h1[data-over]') !== null");
    assert_eq!(browser.complaints(), [""; 0]);
    place.close().await;
}

/// An alert about a step that nobody takes.
async fn alert(place: &Place) -> u64 {
    let rule = axum::http::Request::put("/v1/stuck/rules/step-waiting")
        .header("host", "localhost")
        .header("content-type", "application/json");
    let body = json!({"older_than": "0s", "severity": "critical"}).to_string();
    place.send(rule.body(axum::body::Body::from(body)).unwrap()).await.ok();
    place.create(r#"[{"action": "ghost"}]"#).await;
    place.post("/v1/stuck/detect", "{}").await.ok();
    place.get("/v1/alerts").await.ok()["alerts"][0]["id"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_people_who_look_at_one_alert_both_see_it_acknowledged() {
    let place = Place::open();
    let page = format!("{}/alerts/{}", serve(place.router.clone()).await, alert(&place).await);
    let mut people = [Browser::start(), Browser::start()];
    for person in &mut people {
        person.open(&page);
        person.until("document.querySelector('[data-verb=ack]') !== null");
        person.eval("window.isOld = true");
    }
    let [one, other] = &mut people;
    other.eval("document.getElementById('text').value = 'half writ'");
    one.eval("document.querySelector('[data-verb=ack]').click()");
    let is_seen = "window.isOld && document.querySelector('[data-verb=ack]') === null
        && document.querySelector('.facts').textContent.includes('Acknowledged by')
        && document.querySelector('[data-live=history]').textContent.includes('acknowledged')";
    one.until(is_seen);
    other.until(is_seen);
    assert_eq!(other.eval("document.getElementById('text').value"), "half writ");
    // What came in the place of a button does what it says.
    other.eval("document.querySelector('[data-verb=resolve]').click()");
    let reopened = "window.isOld && document.querySelector('[data-verb=reopen]') !== null
        && document.querySelector('.facts').textContent.includes('half writ')";
    other.until(reopened);
    one.until(reopened);
    for person in &mut people {
        assert_eq!(person.complaints(), [""; 0]);
    }
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_do_is_seen_on_every_page_that_tells_of_it() {
    let place = Place::open();
    place.define("workflow: plain\nversion: 1.0.0\nsteps:\n  - { key: do, action: noop }\n").await.ok();
    let begun = place.post("/v1/executions/begin", r#"{"namespace": "pay", "key": "one"}"#).await.ok();
    let failed = json!({"namespace": "pay", "key": "one", "owner": begun["owner"], "error": "no money"});
    let channel = json!({"name": "ops", "kind": "webhook", "url": "https://example.com/hook"});
    let next = "workflow: plain\nversion: 1.1.0\nsteps:\n  - { key: do, action: noop }\n";
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    for (path, post, body, says) in [
        ("/executions/pay/one", "/v1/executions/fail", failed.to_string(), "no money"),
        ("/notifications", "/v1/channels", channel.to_string(), "example.com"),
        ("/keys", "/v1/keys", json!({"name": "of anna", "role": "viewer"}).to_string(), "of anna"),
        (
            "/settings",
            "/v1/breaker",
            json!({"dispatch_group": "beta", "off": true, "why": "a move"}).to_string(),
            "a move",
        ),
        ("/definitions/plain", "/v1/definitions", next.to_string(), "Compared with 1.0.0"),
        ("/definitions", "/v1/definitions", next.replace("1.1.0", "1.2.0"), "1.2.0"),
    ] {
        browser.open(&format!("{url}{path}"));
        let told = format!("document.querySelector('main').textContent.includes('{says}')");
        assert_eq!(browser.eval(&told), false, "{path}");
        browser.eval("window.isOld = true");
        match post {
            "/v1/definitions" => place.define(body).await,
            _ => place.post(post, body).await,
        };
        browser.until(&format!("window.isOld && {told}"));
        assert_eq!(browser.complaints(), [""; 0], "{path}");
    }
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hand_on_a_switch_stays_on_it_while_another_is_switched() {
    let place = Place::open();
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/settings"));
    browser.eval("document.querySelector('[data-row=beta] button').focus()");
    place.post("/v1/breaker", r#"{"dispatch_group": "alpha", "off": true, "why": "a move"}"#).await.ok();
    browser.until("document.querySelector('[data-row=alpha] .state').textContent === 'off'");
    assert_eq!(browser.eval("document.activeElement.closest('tr')?.dataset.row"), "beta");
    place.close().await;
}
