use crate::place::{Place, endless, peer};
use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, Request};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tower::ServiceExt;

const PATIENCE: Duration = Duration::from_secs(30);
const QUICK: &str = "workflow: quick\nversion: 1.0.0\nsteps:\n  - { key: no, action: noop, when: \"has(input.never)\" }\n  - { key: yes, action: noop }\n";

/// Somebody who listens.
struct Ear {
    headers: HeaderMap,
    body: BodyDataStream,
    text: String,
}

/// What was heard: the id, and the event if there was one.
#[derive(Debug, Default)]
struct Heard {
    id: String,
    event: Value,
}

impl Ear {
    async fn open(router: &Router, query: &str, headers: &[(&str, &str)]) -> Ear {
        let mut request = Request::get(format!("/v1/events{query}")).header("host", "localhost:7837");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.extension(peer("127.0.0.1:40000")).body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        let (parts, body) = response.into_parts();
        Ear { headers: parts.headers, body: body.into_data_stream(), text: String::new() }
    }

    /// The next message; none at the end.
    async fn message(&mut self) -> Option<Heard> {
        loop {
            if let Some((message, rest)) = self.text.split_once("\n\n") {
                let heard = read(message);
                self.text = rest.to_string();
                return Some(heard);
            }
            let chunk = timeout(PATIENCE, self.body.next()).await.expect("nothing is heard")?;
            self.text += std::str::from_utf8(&chunk.unwrap()).unwrap();
        }
    }

    /// The next event.
    async fn event(&mut self) -> Heard {
        loop {
            let heard = self.message().await.expect("it goes on");
            if !heard.event.is_null() {
                return heard;
            }
        }
    }

    /// Up to the end of a workflow, as `type subject`.
    async fn until_end(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        loop {
            let event = self.event().await.event;
            told.push(format!(
                "{} {}",
                event["type"].as_str().unwrap(),
                event["subject"].as_str().unwrap_or("-")
            ));
            if event["type"] == "stepfast.workflow.succeeded" {
                return told;
            }
        }
    }
}

fn read(message: &str) -> Heard {
    let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name)).map(str::trim_start);
    let event = field("data:").map(|text| serde_json::from_str(text).unwrap());
    Heard { id: field("id:").unwrap_or_default().into(), event: event.unwrap_or_default() }
}

async fn place() -> Place {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
        })
        .await;
    place.define(QUICK).await.ok();
    place
}

#[tokio::test]
async fn events_are_heard_as_they_happen() {
    let place = place().await;
    let before = place.start("quick", json!({})).await;
    place.until_workflow(&before, "succeeded").await;
    let mut ear = Ear::open(&place.router, "", &[]).await;
    assert_eq!(ear.headers["content-type"], "text/event-stream");
    let id = place.start("quick", json!({})).await;
    let Heard { event, id: at } = ear.event().await;
    assert_eq!(event["source"], format!("/v1/workflows/{id}"), "from now on");
    assert_eq!((&event["specversion"], &event["type"]), (&json!("1.0"), &json!("stepfast.workflow.started")));
    assert_eq!(event["datacontenttype"], "application/json");
    let (group, number) = event["id"].as_str().unwrap().split_once('/').unwrap();
    assert!(at.split(';').any(|part| part == format!("{group}={number}")), "{at}");
    assert_eq!(at.split(';').count(), 10, "a place in every dispatch group: {at}");
    let told = ear.until_end().await;
    assert!(told.contains(&"stepfast.step.skipped no".into()), "{told:?}");
    place.close().await;
}

#[tokio::test]
async fn whoever_comes_back_misses_nothing_and_hears_nothing_twice() {
    let place = place().await;
    let mut ear = Ear::open(&place.router, "", &[]).await;
    let greeting = ear.message().await.unwrap();
    assert!(greeting.event.is_null() && greeting.id.contains('='), "a place before anything happened");
    drop(ear);
    // Over many dispatch groups, with a break after every single event.
    let mut expected = Vec::new();
    for _ in 0..12 {
        let id = place.start("quick", json!({})).await;
        let group =
            place.until_workflow(&id, "succeeded").await["dispatch_group"].as_str().unwrap().to_string();
        let events = place.get(&format!("/v1/workflows/{id}/events")).await.ok();
        expected.extend(
            events["events"].as_array().unwrap().iter().map(|event| format!("{group}/{}", event["number"])),
        );
    }
    let (mut at, mut ids) = (greeting.id, Vec::new());
    for n in 0..expected.len() {
        let by_header = [("last-event-id", at.as_str())];
        let query = format!("?after={}", at.replace('=', "%3D").replace(';', "%3B"));
        let mut ear = match n % 2 {
            0 => Ear::open(&place.router, "", &by_header).await,
            _ => Ear::open(&place.router, &query, &[]).await,
        };
        let heard = ear.event().await;
        ids.push(heard.event["id"].as_str().unwrap().to_string());
        at = heard.id;
    }
    ids.sort();
    expected.sort();
    assert_eq!(ids, expected, "each of them once");
    let next = place.start("quick", json!({})).await;
    let mut ear = Ear::open(&place.router, "", &[("last-event-id", at.as_str())]).await;
    assert_eq!(ear.event().await.event["source"], format!("/v1/workflows/{next}"), "those were all");
    place.close().await;
}

#[tokio::test]
async fn only_what_is_asked_for_is_heard() {
    let place = place().await;
    let mut kinds = Ear::open(&place.router, "?type=step.skip*,workflow.succeeded", &[]).await;
    let other = place.start("quick", json!({})).await;
    assert_eq!(kinds.until_end().await, ["stepfast.step.skipped no", "stepfast.workflow.succeeded -"]);
    let id = place.start("quick", json!({})).await;
    place.until_workflow(&id, "succeeded").await;
    place.until_workflow(&other, "succeeded").await;
    let mut one = Ear::open(&place.router, &format!("?workflow_id={id}&after=alpha%3D0"), &[]).await;
    let told = one.until_end().await;
    let all = place.get(&format!("/v1/workflows/{id}/events")).await.ok();
    assert_eq!(told.len(), all["events"].as_array().unwrap().len(), "{told:?}");
    for bad in ["?after=nowhere", "?type=a*b", "?workflow_id=x", "?since=1"] {
        place.get(&format!("/v1/events{bad}")).await.refused(400, "invalid_request");
    }
    place.close().await;
}

#[tokio::test]
async fn only_so_many_listen_at_once() {
    let place = place().await;
    let mut ears = Vec::new();
    for _ in 0..64 {
        ears.push(Ear::open(&place.router, "", &[]).await);
    }
    let full = place.get("/v1/events").await.refused(503, "not_ready");
    assert_eq!(full["detail"], "64 listen already; try again when one has left");
    ears.pop();
    drop(Ear::open(&place.router, "", &[]).await);
    place.close().await;
}

#[tokio::test]
async fn a_key_that_is_revoked_hears_no_more() {
    let place = place().await;
    let (key, id) = place.key("viewer").await;
    let mut ear = Ear::open(&place.router, "", &[("authorization", &format!("Bearer {key}"))]).await;
    assert!(ear.message().await.is_some());
    place.post(&format!("/v1/keys/{id}/revoke"), "{}").await.ok();
    while ear.message().await.is_some() {}
    place.close().await;
}

#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_listeners() {
    let place = place().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(stepfast_server::serve(listener, place.site(), async { drop(stopped.await) }));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /v1/events HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    while !heard.windows(4).any(|part| part == b"id: ") {
        let mut part = [0; 1_024];
        let n = stream.read(&mut part).await.unwrap();
        assert!(n > 0, "it listens");
        heard.extend_from_slice(&part[..n]);
    }
    stop.send(()).unwrap();
    timeout(PATIENCE, serving).await.expect("it stops").unwrap().unwrap();
    place.close().await;
}
