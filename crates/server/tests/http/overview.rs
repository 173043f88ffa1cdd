//! The overview in a real browser: the switch with its reason, what is refused, and what its rows lead to.

use crate::browser::Browser;
use crate::every_page::serve;
use crate::place::{Place, endless};
use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use std::time::Duration;
use worker::{Registry, Runner, RunnerConfig};

const IS_OFF: &str = "document.getElementById('switch').getAttribute('aria-checked') === 'false'";

fn press(browser: &mut Browser, id: &str) {
    browser.eval(&format!("document.getElementById('{id}').click()"));
}

#[tokio::test(flavor = "multi_thread")]
async fn dispatch_is_switched_off_with_a_reason_and_on_again() {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
        })
        .await;
    let made = place.create(r#"[{"action": "endless"}]"#).await;
    place.until_state(&made[0], "running").await;
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/step-dispatcher"));
    browser.until("document.documentElement.dataset.live === 'yes'");
    press(&mut browser, "switch");
    browser.until("document.getElementById('off').open");
    press(&mut browser, "off-do");
    assert_eq!(browser.eval("document.getElementById('off').open"), true, "a reason is needed");
    assert_eq!(browser.eval("document.activeElement.id"), "off-why");
    browser.eval("document.getElementById('off-why').value = 'deploy <b>of</b> today'");
    press(&mut browser, "off-do");
    browser.until(&format!(
        "{IS_OFF} && document.getElementById('notice').textContent.includes('switched off by dashboard: deploy <b>of</b> today.')"
    ));
    browser.until("document.getElementById('restart-text').textContent === 'Draining: 1 step in flight'");
    press(&mut browser, "switch");
    browser.until(&format!("!({IS_OFF}) && document.getElementById('notice').hidden"));
    let audit = place.get("/v1/audit").await.ok();
    let told = |n: usize| ["who", "verb", "why"].map(|field| audit["audit"][n][field].clone());
    assert_eq!(told(1), [json!("dashboard"), json!("breaker off"), json!("deploy <b>of</b> today")]);
    assert_eq!(audit["audit"][0]["verb"], "breaker on");
    browser.until("document.getElementById('again').hidden");
    assert_eq!(browser.complaints(), [""; 0]);
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switch_that_is_refused_says_why_and_the_server_is_not_lost() {
    let place = Place::open();
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/step-dispatcher"));
    press(&mut browser, "switch");
    browser.until("document.getElementById('off').open");
    browser.eval("document.getElementById('off-why').value = 'x'.repeat(5000)");
    press(&mut browser, "off-do");
    browser.until("document.getElementById('told').textContent.includes('it has 5000 bytes')");
    assert_eq!(browser.eval("document.getElementById('lost').hidden"), true);
    assert_eq!(browser.eval(IS_OFF), false);
    assert_eq!(place.get("/v1/breaker").await.ok()["can_dispatch_steps"], true);
    place.close().await;
}

/// A host with a worker that is busy for as long as the test runs.
async fn busy(place: &Place, host: &str) -> Runner {
    let mut registry = Registry::default();
    registry.raw("endless", endless);
    let queues = vec!["default".into()];
    let config = RunnerConfig { host: host.into(), queues, concurrency: 1, ..RunnerConfig::default() };
    Runner::start(place.engine.clone(), registry, config).await.unwrap()
}

/// A host whose worker did one step and left.
async fn gone(place: &Place, host: &str) {
    let made = place.create(r#"[{"action": "once"}]"#).await;
    let offer = json!({"host": host, "actions": ["once"], "capacity": 1, "received": 0, "wait_ms": 5000});
    let given = place.post("/v1/worker/claim", offer.to_string()).await.ok();
    let done = json!([{"step": made[0], "attempt": 1, "outcome": "complete"}]);
    let report = json!({"session": given["session"], "reports": done});
    place.post("/v1/worker/report", report.to_string()).await.ok();
    let leave = json!({"session": given["session"], "give_back": true});
    place.post("/v1/worker/leave", leave.to_string()).await.ok();
}

/// Something more waits, and the hosts are drawn anew because of it.
async fn grow(place: &Place, browser: &mut Browser) {
    browser.eval("document.querySelectorAll('#hosts details').forEach((host) => { host.isOld = true; })");
    place.create(r#"[{"action": "ghost"}]"#).await;
    browser.until("[...document.querySelectorAll('#hosts details')].every((host) => !host.isOld)");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hand_on_a_host_stays_on_it_and_what_was_unfolded_stays_so() {
    let place = Place::open();
    gone(&place, "carl").await;
    let workers = [busy(&place, "anna").await, busy(&place, "berta").await];
    let made = place.create(r#"[{"action": "endless"}, {"action": "endless"}]"#).await;
    for id in &made {
        place.until_state(id, "running").await;
    }
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/step-dispatcher"));
    browser.until("document.documentElement.dataset.live === 'yes'");
    let open =
        "[...document.querySelectorAll('#hosts details')].map((host) => `${host.dataset.host} ${host.open}`)";
    assert_eq!(
        browser.eval(open),
        json!(["anna false", "berta false", "carl false"]),
        "of three none is unfolded"
    );
    let about = "document.querySelector('[data-host=carl] .aside').textContent";
    browser.until(&format!("{about} === 'offline'"));
    browser.eval("document.querySelector('[data-host=berta] > summary').click()");
    browser.eval("document.querySelector('[data-host=berta] > summary').focus()");
    let held = "[document.activeElement.tagName, document.activeElement.closest('details')?.dataset.host]";
    grow(&place, &mut browser).await;
    assert_eq!(browser.eval(open), json!(["anna false", "berta true", "carl false"]));
    assert_eq!(browser.eval(held), json!(["SUMMARY", "berta"]));
    browser.eval("document.querySelector('[data-host=berta] a').focus()");
    grow(&place, &mut browser).await;
    assert_eq!(browser.eval(held), json!(["A", "berta"]), "not on the same link of another table");
    browser.eval("document.querySelector('[data-host=berta] > summary').click()");
    browser.eval("document.querySelector('[data-host=carl] > summary').focus()");
    grow(&place, &mut browser).await;
    assert_eq!(browser.eval(open), json!(["anna false", "berta false", "carl false"]));
    assert_eq!(browser.eval(held), json!(["SUMMARY", "carl"]));
    assert_eq!(browser.complaints(), [""; 0]);
    for worker in workers {
        worker.stop(Duration::ZERO).await;
    }
    place.close().await;
}

#[tokio::test]
async fn rows_lead_to_their_steps_and_only_who_may_is_given_the_switch() {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("a&b", endless);
        })
        .await;
    let made = place.create(r#"[{"action": "a&b"}]"#).await;
    place.until_state(&made[0], "running").await;
    let page = place.get("/step-dispatcher").await;
    for part in [
        "href=\"/step-dispatcher/steps?action=a%26b\"",
        "href=\"/step-dispatcher/steps?dispatch_group=kappa\"",
        "data-figure=\"polling\"",
        "data-figure=\"child_polling\"",
        "data-open-max=\"2\"",
        "<div class=\"card orange\"><span class=\"name\">Throttled<",
        "href=\"/step-dispatcher/steps?state=pending\"><span class=\"name\">Pending<",
        "id=\"off\"",
    ] {
        assert!(page.text().contains(part), "{part} is not in {}", page.text());
    }
    assert!(!page.text().contains("title=\"Who may operate"), "{}", page.text());
    let (key, _) = place.key("viewer").await;
    let request = Request::get("/step-dispatcher").header("host", "localhost:7837");
    let request = request.header("authorization", format!("Bearer {key}")).body(Body::empty()).unwrap();
    let page = place.send(request).await;
    assert!(page.text().contains("disabled title=\"Who may operate"), "{}", page.text());
    assert!(!page.text().contains("id=\"off\""), "{}", page.text());
    place.close().await;
}
