//! The overview in a real browser: the switch with its reason, what is refused, and what its rows lead to.

use crate::browser::Browser;
use crate::every_page::serve;
use crate::place::{Place, endless};
use axum::body::Body;
use axum::http::Request;
use serde_json::json;

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
