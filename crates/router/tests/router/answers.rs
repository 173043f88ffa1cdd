//! Every answer a target can give, over HTTP, from a small server.

use crate::support::{Event, Spy, config, message, pool, publish, queue, to, until};
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use router::{Category, Router, RouterConfig, Severity, Targets};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// What was asked, as `path id token`.
pub struct Endpoint {
    pub url: String,
    pub asked: watch::Sender<Vec<String>>,
}

impl Endpoint {
    pub async fn start() -> Arc<Endpoint> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let endpoint = Arc::new(Endpoint { url, asked: watch::Sender::new(Vec::new()) });
        let app = axum::Router::new().fallback(answer).with_state(endpoint.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        endpoint
    }

    pub fn asked(&self, path: &str) -> usize {
        let start = format!("/{path} ");
        self.asked.borrow().iter().filter(|line| line.starts_with(&start)).count()
    }
}

/// The path says what to answer: `204`, `put-off`, `put-off-30`, `later` (429 and a second), `endless`, `hang`, `redirect`, ….
async fn answer(State(endpoint): State<Arc<Endpoint>>, headers: HeaderMap, request: Request) -> Response {
    let path = request.uri().path().to_string();
    let token = headers[header::AUTHORIZATION].to_str().unwrap().to_string();
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let line = format!("{path} {} {token}", String::from_utf8_lossy(&body));
    let mut times = 0;
    endpoint.asked.send_modify(|asked| {
        asked.push(line);
        times = asked.iter().filter(|known| known.starts_with(&format!("{path} "))).count();
    });
    let json = [(header::CONTENT_TYPE, "application/json")];
    match &path[1..] {
        "text" => "fine".into_response(),
        "ack" => (json, r#"{"ack":true,"message":"done"}"#).into_response(),
        "put-off" => (json, r#"{"ack":false,"message":"not now"}"#).into_response(),
        "put-off-30" => (json, r#"{"ack":false,"delaySeconds":30}"#).into_response(),
        "later" => (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "7")]).into_response(),
        "later-once" if times == 1 => {
            (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")]).into_response()
        }
        "stumble" if times == 1 => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        "later-once" | "stumble" => "fine".into_response(),
        "hang" => std::future::pending().await,
        "half" | "half-refusal" => {
            let begun = stream::iter([Ok::<_, std::io::Error>(Bytes::from(r#"{"ack""#))]);
            let status = if path == "/half" { StatusCode::OK } else { StatusCode::NOT_FOUND };
            (status, Body::from_stream(begun.chain(stream::pending()))).into_response()
        }
        "endless" | "endless-refusal" => {
            let chunks = stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; 4096])));
            let status = if path == "/endless" { StatusCode::OK } else { StatusCode::BAD_REQUEST };
            (status, Body::from_stream(chunks)).into_response()
        }
        "long" => (json, format!(r#"{{"ack":false,"message":"{}"}}"#, "x".repeat(70_000))).into_response(),
        "redirect" => (StatusCode::FOUND, [(header::LOCATION, "/redirected")]).into_response(),
        "400" => (StatusCode::BAD_REQUEST, json, r#"{"ack":false,"message":"no such step"}"#).into_response(),
        status => StatusCode::from_u16(status.parse().unwrap()).unwrap().into_response(),
    }
}

/// The path, how often it is called, and how its delivery ends: acknowledged, or deferred for so many seconds.
const TABLE: [(&str, usize, Option<u64>); 26] = [
    ("200", 1, None),
    ("204", 1, None),
    ("text", 1, None),
    ("ack", 1, None),
    ("stumble", 2, None),
    ("put-off", 1, Some(5)),
    ("put-off-30", 1, Some(30)),
    ("400", 1, None),
    ("401", 1, Some(5)),
    ("403", 1, None),
    ("404", 1, None),
    ("409", 1, None),
    ("422", 1, None),
    ("endless-refusal", 1, None),
    ("half-refusal", 1, None),
    ("429", 1, Some(30)),
    ("later", 1, Some(7)),
    ("501", 1, None),
    ("500", 3, Some(30)),
    ("503", 3, Some(30)),
    ("301", 1, Some(30)),
    ("redirect", 1, Some(30)),
    ("endless", 1, Some(30)),
    ("long", 1, Some(30)),
    ("hang", 1, Some(30)),
    ("half", 1, Some(30)),
];

#[tokio::test]
async fn every_answer_ends_its_delivery_as_the_table_says() {
    let (queue, endpoint) = (queue(), Endpoint::start().await);
    let messages = TABLE.map(|(path, ..)| to(&format!("{}/{path}", endpoint.url), message(path, None)));
    publish(&queue, messages.to_vec()).await;
    let spy = Spy::on(&queue);
    let config = RouterConfig {
        mediation_timeout: Duration::from_secs(2),
        targets: Targets::only([endpoint.url.as_str()]).unwrap(),
        ..config(&[pool("p", 50)])
    };
    let running = Router::start(config, spy.clone()).unwrap();
    for (path, calls, deferred) in TABLE {
        let end = match deferred {
            None => Event::Acked(path.into()),
            Some(seconds) => Event::Deferred(path.into(), seconds),
        };
        spy.until(&format!("{path}: {end:?}"), |events| events.contains(&end)).await;
        assert_eq!(endpoint.asked(path), calls, "calls of {path}");
    }
    assert_eq!(endpoint.asked("redirected"), 0, "no redirect is followed");
    let line = r#"/ack {"messageId":"ack"} Bearer token of ack"#;
    assert!(endpoint.asked.borrow().iter().any(|known| known == line), "{:?}", endpoint.asked.borrow());
    let status = running.status();
    let counters = status.counters;
    assert_eq!((counters.processed, counters.dropped, counters.failed), (5, 8, 8), "{counters:?}");
    let warned = |path: &str| {
        let about = format!("{}/{path}", endpoint.url);
        let found = status.warnings.iter().find(|warning| warning.about == about);
        found.map(|warning| (warning.category, warning.severity))
    };
    for path in ["400", "403", "404", "409", "422"] {
        assert_eq!(warned(path), Some((Category::Configuration, Severity::Error)), "{path}");
    }
    for path in ["401", "501"] {
        assert_eq!(warned(path), Some((Category::Configuration, Severity::Critical)), "{path}");
    }
    assert_eq!(warned("put-off"), None);
    let calls_and_failures = |path: &str| {
        let target = format!("{}/{path}", endpoint.url);
        let breaker = status.breakers.iter().find(|breaker| breaker.target == target).unwrap();
        (breaker.calls, breaker.failures)
    };
    for (paths, wanted) in [
        (vec!["200", "404", "501"], (1, 0)),
        (vec!["put-off", "429"], (0, 0)),
        (vec!["500", "hang", "endless", "redirect"], (1, 1)),
    ] {
        paths.into_iter().for_each(|path| assert_eq!(calls_and_failures(path), wanted, "{path}"));
    }
    assert!(status.warnings.iter().any(|warning| warning.text.contains("no such step")));
}

#[tokio::test]
async fn what_cannot_be_called_or_read_is_acknowledged_and_told() {
    let (queue, endpoint) = (queue(), Endpoint::start().await);
    let spy = Spy::on(&queue);
    let config =
        RouterConfig { targets: Targets::only([endpoint.url.as_str()]).unwrap(), ..config(&[pool("p", 50)]) };
    let running = Router::start(config, spy.clone()).unwrap();
    let elsewhere = Endpoint::start().await;
    let targets = [
        format!("{}/200", elsewhere.url),
        "http://169.254.169.254/latest/meta-data".into(),
        "file:///etc/passwd".into(),
        "not an address".into(),
        endpoint.url.replace("http://", "http://user:secret@"),
    ];
    let n = targets.len();
    let messages = targets.iter().enumerate().map(|(n, target)| to(target, message(&format!("m{n}"), None)));
    publish(&queue, messages.collect()).await;
    queue.put(b"this is no pointer");
    queue.put(br#"{"id":"x"}"#);
    spy.until_acked(n + 2).await;
    assert!(elsewhere.asked.borrow().is_empty() && endpoint.asked.borrow().is_empty());
    let status = running.status();
    assert_eq!((status.counters.dropped, queue.depth()), (n as u64 + 2, 0));
    assert!(status.warnings.iter().all(|warning| warning.category == Category::Configuration));
    let said = format!("{status:?}");
    assert!(said.contains("no message pointer") && !said.contains("secret"), "{said}");
}

#[tokio::test]
async fn a_target_where_nobody_listens_is_called_three_times_and_deferred() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let queue = queue();
    publish(&queue, vec![to(&format!("http://127.0.0.1:{port}/"), message("a", None))]).await;
    let spy = Spy::on(&queue);
    let running = Router::start(config(&[pool("p", 1)]), spy.clone()).unwrap();
    let started_at = tokio::time::Instant::now();
    until(&spy.events, "it is deferred", |events| events.contains(&Event::Deferred("a".into(), 30))).await;
    assert!(started_at.elapsed() >= Duration::from_secs(3), "two pauses: {:?}", started_at.elapsed());
    let warnings = running.status().warnings;
    assert_eq!(warnings[0].category, Category::Connection);
    assert!(warnings[0].text.to_lowercase().contains("refused"), "{warnings:?}");
}
