//! Every button and form of the pages, pressed in a real browser.

use crate::browser::Browser;
use crate::every_page::serve;
use crate::place::Place;
use crate::showcase::{Showcase, everything};
use serde_json::Value;

async fn audit(place: &Place) -> Vec<String> {
    let rows = place.get("/v1/audit").await.ok();
    rows["audit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{} {}", row["who"].as_str().unwrap(), row["verb"].as_str().unwrap()))
        .collect()
}

fn fill(browser: &mut Browser, fields: &[(&str, &str)]) {
    for (id, text) in fields {
        browser.eval(&format!("document.getElementById('{id}').value = '{text}'"));
    }
}

/// Press a button that asks, and say yes.
fn press(browser: &mut Browser, selector: &str, why: &str) {
    browser.eval(&format!("document.querySelector(`{selector}`).click()"));
    browser.until("document.getElementById('sure').open");
    fill(browser, &[("sure-why", why)]);
    browser.eval("document.getElementById('sure-do').click()");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_made_shown_once_and_revoked() {
    let place = Place::open();
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/keys"));
    fill(
        &mut browser,
        &[("name", "the <b>on call</b>"), ("role", "operator"), ("scope", "slow, mail"), ("days", "7")],
    );
    browser.eval("document.querySelector('form.fields button').click()");
    browser.until("document.getElementById('made-text').textContent.startsWith('sf_')");
    let key = browser.eval("document.getElementById('made-text').textContent");
    let kept = place.get("/v1/keys").await.ok();
    let kept = &kept["keys"][0];
    assert_eq!((&kept["name"], &kept["role"]), (&"the <b>on call</b>".into(), &"operator".into()));
    assert_eq!(kept["scope"], serde_json::json!(["slow", "mail"]));
    browser.open(&format!("{url}/keys"));
    let html = browser.eval("document.documentElement.outerHTML");
    assert!(!html.as_str().unwrap().contains(key.as_str().unwrap()), "a key is shown once");
    browser.eval("document.querySelector('button[data-post$=revoke]').click()");
    browser.until("document.getElementById('sure').open");
    browser.eval("document.getElementById('sure-leave').click()");
    assert_eq!(place.get("/v1/keys").await.ok()["keys"][0]["state"], "live", "it was left as it is");
    press(&mut browser, "button[data-post$=revoke]", "");
    browser.until("document.querySelector('table .state').textContent === 'revoked'");
    assert_eq!(audit(&place).await.len(), 2, "made and revoked");
    assert_eq!(browser.complaints(), [""; 0]);
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_is_set_and_what_is_wrong_with_one_is_told() {
    let place = Place::open();
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/pools"));
    fill(&mut browser, &[("name", "card"), ("rate", "soon")]);
    browser.eval("document.querySelector('form.fields button').click()");
    browser.until("document.getElementById('told').textContent.includes('rate: `soon` is no rate')");
    fill(&mut browser, &[("rate", "5/s"), ("concurrency", "3"), ("burst", "2")]);
    browser.eval("document.querySelector('form.fields button').click()");
    browser.until("document.querySelector('table th[scope=row]')?.textContent === 'card'");
    let pool = place.get("/v1/pools").await.ok()["pools"][0].clone();
    assert_eq!((&pool["concurrency"], &pool["rate"], &pool["burst"]), (&3.into(), &"5/s".into(), &2.into()));
    press(&mut browser, "button[data-post$=remove]", "the card is sold");
    browser.until("document.querySelector('.empty') !== null");
    assert_eq!(place.get("/v1/pools").await.ok()["pools"], serde_json::json!([]));
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispatch_group_and_remedies_are_switched() {
    let place = Place::open();
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/settings"));
    press(&mut browser, r#"button[data-body*='"beta"']"#, "deploy <of> today");
    browser.until(
        "[...document.querySelectorAll('td')].some((cell) => cell.textContent.includes('deploy <of> today'))",
    );
    let groups = place.get("/v1/breaker").await.ok()["groups"].clone();
    let beta = groups.as_array().unwrap().iter().find(|group| group["dispatch_group"] == "beta").unwrap();
    assert_eq!((&beta["off"], &beta["by"]), (&true.into(), &"dashboard".into()));
    let before = place.get("/v1/stuck/rules").await.ok()["auto"].clone();
    press(&mut browser, "button[data-post='/v1/stuck/auto']", "");
    browser.until(&format!(
        "document.body.textContent.includes('{}')",
        if before == true { "No remedy is applied" } else { "Rules that say so" }
    ));
    assert_ne!(place.get("/v1/stuck/rules").await.ok()["auto"], before);
    assert_eq!(browser.complaints(), [""; 0]);
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_is_answered_on_its_page() {
    let Showcase { place, paused_workflow, .. } = everything().await;
    place.post("/v1/breaker", r#"{"off": false}"#).await.ok();
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/waiting"));
    browser.eval("document.querySelector('a.button').click()");
    browser.until("location.pathname.endsWith('/approve') && document.querySelector('form.answer') !== null");
    browser.eval("document.querySelector('form.answer select, form.answer input').value = 'true'");
    browser.eval("document.querySelector('form.answer button').click()");
    browser.until("document.querySelector('[role=status]')?.textContent.includes('the workflow goes on')");
    place.until_workflow(&paused_workflow, "succeeded").await;
    let sent = place.get(&format!("/v1/workflows/{paused_workflow}/triggers")).await.ok();
    assert_eq!(sent["triggers"][0]["identity"], "dashboard", "{sent}");
    place.close().await;
}

/// Press a verb, and give what would be done.
fn try_out(browser: &mut Browser, verb: &str) -> String {
    browser.eval("document.getElementById('why').value = 'seen to'");
    browser.eval(&format!("document.querySelector('[data-verb={verb}]').click()"));
    browser.until("!document.getElementById('sure').hidden");
    let told: Value = browser.eval(
        "document.getElementById('would').textContent + ' ' + document.getElementById('effects').textContent",
    );
    told.as_str().unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_is_cancelled_after_it_was_told_what_that_means() {
    let Showcase { place, waiting_step, .. } = everything().await;
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/step-dispatcher/steps/{waiting_step}"));
    let why = browser.eval("document.querySelector('.held-by').textContent");
    assert!(why.as_str().unwrap().contains("Why it is not running"), "{why}");
    assert_eq!(try_out(&mut browser, "cancel").trim(), "It is pending and would be cancelled for good.");
    assert_eq!(place.step(&waiting_step).await["state"], "pending", "it was only tried");
    browser.eval("document.getElementById('do').click()");
    browser.until("document.querySelector('h1 .state').textContent === 'cancelled'");
    browser.until("document.querySelector('[data-verb=retry]') !== null && document.querySelector('[data-verb=cancel]') === null");
    assert_eq!(audit(&place).await[0], "dashboard cancel");
    try_out(&mut browser, "retry");
    browser.eval("document.getElementById('do').click()");
    browser.until("document.querySelector('h1 .state').textContent === 'superseded'");
    assert_eq!(browser.complaints(), [""; 0]);
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_workflow_is_done_again_from_a_step() {
    let Showcase { place, failed_workflow, .. } = everything().await;
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/workflows/{failed_workflow}"));
    let lanes =
        browser.eval("[...document.querySelectorAll('.gantt .lane')].map((lane) => lane.textContent)");
    assert_eq!(lanes, serde_json::json!(["check", "charge"]), "what has begun has a lane");
    assert_eq!(browser.eval("document.querySelectorAll('.gantt rect.failed').length > 0"), true);
    browser.eval("document.getElementById('from-step').value = 'check'");
    let told = try_out(&mut browser, "retry_from_step");
    assert!(told.starts_with("It has failed and would be running"), "{told}");
    assert_eq!(
        place.get(&format!("/v1/workflows/{failed_workflow}")).await.ok()["state"],
        "failed",
        "it was only tried"
    );
    browser.eval("document.getElementById('do').click()");
    browser.until("document.querySelector('h1 .state').textContent === 'running'");
    let shown = place.get(&format!("/v1/workflows/{failed_workflow}")).await.ok();
    assert_eq!(
        (&shown["steps"][0]["run"], &shown["resolutions"][0]["decision"]),
        (&2.into(), &"retry_from_step".into())
    );
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_box_of_the_graph_leads_to_its_step_by_mouse_and_by_key() {
    let Showcase { place, failed_workflow, .. } = everything().await;
    let url = serve(place.router.clone()).await;
    let steps = place.get(&format!("/v1/workflows/{failed_workflow}")).await.ok()["steps"].clone();
    let mut browser = Browser::start();
    browser.open(&format!("{url}/workflows/{failed_workflow}"));
    let names =
        "[...document.querySelectorAll('.sf-graph a')].map((link) => link.getAttribute('aria-label'))";
    assert_eq!(
        browser.eval(names),
        serde_json::json!(["check, completed", "charge, failed"]),
        "what has begun"
    );
    let charge = "document.querySelectorAll('.sf-graph a')[1]";
    browser.eval(&format!("{charge}.focus()"));
    let is_seen = format!(
        "{charge}.matches(':focus-visible') && getComputedStyle({charge}.querySelector('.sf-box')).strokeWidth"
    );
    assert_eq!(browser.eval(&is_seen), "5px", "one sees where the keyboard is");
    browser.eval(&format!(
        "{charge}.dispatchEvent(new MouseEvent('click', {{ bubbles: true, cancelable: true }}))"
    ));
    let page = format!("/step-dispatcher/steps/{}", steps[1]["step_id"].as_str().unwrap());
    browser.until(&format!("location.pathname === '{page}'"));
    assert_eq!(browser.complaints(), [""; 0]);
    place.close().await;
}
