//! Bulk operations in a real browser: from a list to a preview, from there to the end, and cancelled with a reason.

use crate::browser::Browser;
use crate::bulk::{ghosts, with_bulk};
use crate::every_page::serve;
use crate::place::Place;
use serde_json::json;

fn press(browser: &mut Browser, selector: &str) {
    browser.eval(&format!("document.querySelector('{selector}').click()"));
}

fn write(browser: &mut Browser, id: &str, text: &str) {
    browser.eval(&format!("document.getElementById('{id}').value = '{text}'"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_list_shows_is_previewed_run_and_seen_to_end() {
    let mut place = Place::open();
    with_bulk(&mut place).await;
    let made = ghosts(&place, 70).await;
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/step-dispatcher/steps?state=pending&action=ghost&limit=5"));
    browser.eval(
        "[...document.querySelectorAll('main a')].find((a) => a.textContent.startsWith('All of')).click()",
    );
    browser.until("location.pathname === '/bulk' && document.getElementById('order') !== null");
    let carried = browser.eval("['state', 'action'].map((id) => document.getElementById(id).value)");
    assert_eq!(carried, json!(["pending", "ghost"]));
    write(&mut browser, "verb", "cancel");
    press(&mut browser, "#order button");
    browser.until("!document.getElementById('sure').hidden");
    let told = browser.eval("document.getElementById('sure').textContent");
    let told = told.as_str().unwrap();
    for part in
        ["This means 70 steps; these are a few of them:", "pending -> cancelled", "Yes, cancel 70 steps"]
    {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    let link = browser.eval("document.querySelector('#sample a').pathname");
    assert!(link.as_str().unwrap().starts_with("/step-dispatcher/steps/"), "{link}");
    press(&mut browser, "#do");
    browser.until("document.getElementById('told').textContent.startsWith('Say why first')");
    assert_eq!(browser.eval("document.activeElement.id"), "why");
    assert_eq!(place.get("/v1/bulk").await.ok()["bulk"], json!([]), "it was only tried");
    write(&mut browser, "why", "nobody <b>runs</b> them");
    press(&mut browser, "#do");
    browser.until("document.querySelector('h1 .state')?.textContent === 'succeeded'");
    let shown = browser.eval("document.querySelector('main').textContent");
    for part in [
        "70 of 70 looked at: 70 done, 0 refused",
        "action: ghost · state: pending",
        "nobody <b>runs</b> them",
    ] {
        assert!(shown.as_str().unwrap().contains(part), "{part} is not in {shown}");
    }
    assert_eq!(browser.eval("document.querySelector('button[data-post]')"), json!(null), "it is over");
    assert_eq!(place.step(&made[0]).await["state"], "cancelled");
    assert_eq!(browser.complaints(), [""; 0]);
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_meant_anew_is_previewed_anew_and_nothing_is_told_as_such() {
    let place = Place::open();
    ghosts(&place, 2).await;
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/bulk"));
    press(&mut browser, "#order button");
    browser.until("document.getElementById('told').textContent.includes('filter: nothing is said')");
    write(&mut browser, "action", "ghost");
    press(&mut browser, "#order button");
    browser.until("document.getElementById('sure').textContent.includes('would be refused')");
    browser.eval("document.getElementById('queue').dispatchEvent(new Event('input', { bubbles: true }))");
    assert_eq!(browser.eval("document.getElementById('sure').hidden"), true, "something else may be meant");
    write(&mut browser, "queue", "nowhere");
    press(&mut browser, "#order button");
    browser.until("document.getElementById('would').textContent === 'Nothing is like that.'");
    assert_eq!(browser.eval("document.getElementById('do').hidden"), true);
    browser.open(&format!("{url}/bulk?what=workflows"));
    write(&mut browser, "label-0", "no label");
    press(&mut browser, "#order button");
    browser.until("document.getElementById('told').textContent.includes('write name:value')");
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_cancelled_with_a_reason() {
    let place = Place::open();
    ghosts(&place, 3).await;
    // Nobody runs it, so it waits.
    let body =
        json!({"what": "steps", "filter": {"action": "ghost"}, "verb": "skip", "why": "x", "per_second": 2});
    let id = place.post("/v1/bulk", body.to_string()).await.ok()["id"].as_str().unwrap().to_string();
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.open(&format!("{url}/bulk"));
    browser.eval(&format!("document.querySelector('a[href=\"/bulk/{id}\"]').click()"));
    browser.until("document.querySelector('button[data-post$=cancel]') !== null");
    press(&mut browser, "button[data-post$=cancel]");
    browser.until("document.getElementById('sure').open");
    press(&mut browser, "#sure-do");
    assert_eq!(browser.eval("document.getElementById('sure').open"), true, "a reason is needed");
    assert_eq!(browser.eval("document.activeElement.id"), "sure-why");
    write(&mut browser, "sure-why", "the wrong ones");
    press(&mut browser, "#sure-do");
    browser.until("document.querySelector('h1 .state')?.textContent === 'cancelled'");
    let audit = place.get("/v1/audit").await.ok();
    let told = ["who", "verb", "why"].map(|field| audit["audit"][0][field].clone());
    assert_eq!(told, [json!("dashboard"), json!("cancel"), json!("the wrong ones")]);
    let list = place.get("/bulk").await;
    assert!(list.text().contains("0 of 3 looked at: 0 done, 0 refused"), "{}", list.text());
    place.close().await;
}
