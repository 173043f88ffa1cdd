//! Pages that are kept live: by what the server tells, and without taking anything out of anybody's hands.

use crate::browser::Browser;
use crate::every_page::serve;
use crate::place::Place;

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
