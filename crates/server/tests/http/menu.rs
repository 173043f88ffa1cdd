//! The way around for whoever may not open everything: in a real browser, with a key entered on the page.

use crate::browser::Browser;
use crate::every_page::serve;
use crate::place::Place;
use serde_json::{Value, json};

fn sign_in(browser: &mut Browser, url: &str, key: &str) {
    browser.open(&format!("{url}/sign-in"));
    browser.eval(&format!("document.getElementById('key').value = '{key}'"));
    browser.eval("document.querySelector('form.sign-in').requestSubmit()");
    browser.until("location.pathname !== '/sign-in' && document.querySelector('.side') !== null");
}

fn names(browser: &mut Browser) -> Vec<String> {
    let names = browser.eval("[...document.querySelectorAll('.side a')].map((link) => link.textContent)");
    let told =
        browser.eval("[...document.querySelectorAll('#keys dd')].slice(3).map((one) => one.textContent)");
    assert_eq!(names, told, "the sheet of keys tells the same");
    serde_json::from_value(names).unwrap()
}

/// Every link around the page, with what it answers.
fn answers(browser: &mut Browser) -> Vec<(String, Value)> {
    let asked = "Promise.all([...new Set([...document.querySelectorAll('.side a, .menu a, .brand, footer a')].map((link) => link.href))]
        .map(async (href) => [href, (await fetch(href)).status]))";
    serde_json::from_value(browser.eval(asked)).unwrap()
}

/// Every page of the list is opened, and complains of nothing.
fn open_each(browser: &mut Browser, url: &str) -> usize {
    let paths = browser.eval("[...document.querySelectorAll('.side a')].map((link) => link.pathname)");
    let paths: Vec<String> = serde_json::from_value(paths).unwrap();
    for path in &paths {
        browser.open(&format!("{url}{path}"));
        assert_eq!(browser.complaints(), [""; 0], "{path}");
    }
    paths.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_with_a_scope_is_led_nowhere_that_is_closed_to_it() {
    let place = Place::open();
    let key = json!({"name": "tenant", "role": "admin", "scope": ["priority"]});
    let key = place.post("/v1/keys", key.to_string()).await.ok()["key"].as_str().unwrap().to_string();
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    sign_in(&mut browser, &url, &key);
    assert_eq!(browser.eval("location.pathname"), "/step-dispatcher/steps");
    assert_eq!(names(&mut browser), ["Workflows", "Steps", "Bulk operations"]);
    for (href, status) in answers(&mut browser) {
        assert_eq!(status, 200, "{href}");
    }
    // Its pages ask by themselves: what others do is not told to it, not even when.
    place
        .create(r#"[{"action": "ghost", "queue": "priority"}, {"action": "other", "queue": "default"}]"#)
        .await;
    browser.until("document.querySelectorAll('.rows li').length === 1");
    assert_eq!(browser.eval("document.querySelector('.rows b').textContent"), "ghost");
    assert_eq!(browser.complaints(), [""; 0]);
    assert_eq!(open_each(&mut browser, &url), 3);
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_is_led_to_no_keys_and_sees_a_switch_that_is_not_theirs() {
    let place = Place::open();
    let (key, _) = place.key("viewer").await;
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    sign_in(&mut browser, &url, &key);
    let names = names(&mut browser);
    assert!(names.contains(&"Overview".into()) && !names.contains(&"Keys".into()), "{names:?}");
    for (href, status) in answers(&mut browser) {
        assert_eq!(status, 200, "{href}");
    }
    let switch =
        browser.eval("[document.getElementById('switch').disabled, document.getElementById('switch').title]");
    assert_eq!(switch[0], true);
    assert!(switch[1].as_str().unwrap().contains("operator or admin"), "{switch}");
    assert_eq!(open_each(&mut browser, &url), names.len());
    browser.open(&format!("{url}/settings"));
    assert_eq!(browser.eval("document.querySelector('a[href=\"/keys\"]')"), json!(null));
    // What is refused has a way around too.
    browser.open(&format!("{url}/keys"));
    assert_eq!(browser.eval("document.querySelector('h1').textContent"), "Not allowed");
    assert_eq!(browser.eval("document.querySelector('.side a[href=\"/keys\"]')"), json!(null));
    place.close().await;
}
