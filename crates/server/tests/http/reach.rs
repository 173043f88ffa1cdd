//! Lists over history: a page looks so far and goes on from there.

use crate::place::Place;
use model::{NewStep, limits};

/// More than one page looks through.
async fn crowded() -> (Place, String) {
    let place = Place::open();
    let old = place.create(r#"[{"action": "ghost", "label": "long ago"}]"#).await.remove(0);
    place.post(&format!("/v1/steps/{old}/cancel"), r#"{"why": "x"}"#).await.ok();
    let mut left = limits::LOOKED_THROUGH_MAX + 10;
    while left > 0 {
        let some = left.min(1_000);
        place.engine.create(vec![NewStep::of("ghost"); some]).await.unwrap();
        left -= some;
    }
    (place, old)
}

/// Where a page leads on to.
fn next(html: &str) -> String {
    let link = html.split("<a class=\"button\" href=\"").nth(1).expect("it goes on");
    link.split('"').next().unwrap().replace("&amp;", "&")
}

#[tokio::test]
async fn what_is_rare_is_found_a_page_at_a_time() {
    let (place, old) = crowded().await;
    let first = place.get("/step-dispatcher/steps?state=cancelled").await;
    assert!(
        first.text().contains("Among those that were looked through, no step is like that."),
        "{}",
        first.text()
    );
    let second = place.get(&next(first.text())).await;
    assert!(second.text().contains(&old) && second.text().contains("long ago"), "{}", second.text());
    assert!(!second.text().contains("Older steps"), "there the list ends");
    // What there is much of fills its page at once, and goes on within what was looked through.
    let many = place.get("/step-dispatcher/steps?state=pending&limit=5").await;
    assert_eq!(many.text().matches("<b>ghost</b>").count(), 5);
    assert!(next(many.text()).contains("state=pending&limit=5&after="));
    // A program asks for the whole.
    let listed = place.get("/v1/steps?state=cancelled").await.ok();
    assert_eq!((&listed["steps"][0]["id"], &listed["next"]), (&old.into(), &serde_json::Value::Null));
    place.close().await;
}
