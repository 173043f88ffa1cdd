//! The figures of the dashboard as they change.

use crate::place::{Place, peer};
use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures_util::StreamExt;
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;
use tower::ServiceExt;

async fn look(place: &Place) -> BodyDataStream {
    look_with(place, None).await
}

async fn look_with(place: &Place, key: Option<&str>) -> BodyDataStream {
    let mut request = Request::get("/step-dispatcher/live").header("host", "localhost:7837");
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let request = request.extension(peer("127.0.0.1:40000")).body(Body::empty()).unwrap();
    let response = place.router.clone().oneshot(request).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (200, &"text/event-stream".parse().unwrap())
    );
    response.into_body().into_data_stream()
}

/// The next figures.
async fn figures(body: &mut BodyDataStream) -> Value {
    loop {
        let chunk = timeout(Duration::from_secs(30), body.next()).await.unwrap().unwrap().unwrap();
        let text = std::str::from_utf8(&chunk).unwrap();
        let data = text.lines().find_map(|line| line.strip_prefix("data: "));
        if let Some(data) = data {
            return serde_json::from_str(data).unwrap();
        }
    }
}

#[tokio::test]
async fn whoever_looks_is_told_the_figures_when_they_change() {
    let place = Place::open();
    let mut first = look(&place).await;
    assert_eq!(figures(&mut first).await["global"]["pending"], 0);
    // Whoever comes later is told at once what the others know.
    let mut second = look(&place).await;
    assert_eq!(figures(&mut second).await["global"]["pending"], 0);
    place.create(r#"[{"action": "ghost"}]"#).await;
    for page in [&mut first, &mut second] {
        assert_eq!(figures(page).await["global"]["pending"], 1);
    }
    drop((first, second));
    let mut third = look(&place).await;
    assert_eq!(figures(&mut third).await["global"]["pending"], 1, "it begins anew for whoever comes then");
    drop(third);
    place.close().await;
}

#[tokio::test]
async fn a_key_that_is_revoked_sees_no_more() {
    let place = Place::open();
    let (key, id) = place.key("viewer").await;
    let (mut theirs, mut ours) = (look_with(&place, Some(&key)).await, look(&place).await);
    for page in [&mut theirs, &mut ours] {
        assert_eq!(figures(page).await["global"]["pending"], 0);
    }
    place.post(&format!("/v1/keys/{id}/revoke"), "{}").await.ok();
    // Well before everybody is sent away to come back.
    let ended = timeout(Duration::from_secs(30), async { while theirs.next().await.is_some() {} });
    assert!(ended.await.is_ok(), "nothing changed, and it was noticed all the same");
    place.create(r#"[{"action": "ghost"}]"#).await;
    assert_eq!(figures(&mut ours).await["global"]["pending"], 1, "whoever may look goes on looking");
    place.close().await;
}
