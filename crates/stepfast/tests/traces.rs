//! Traces through the real binary: what a caller began is seen through every attempt, by a collector and by who is called.
#![allow(clippy::unwrap_used)]

mod common;
mod outside;

use common::{Home, Server, client, until};
use outside::{Outside, TRACES};
use serde_json::{Value, json};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

/// A collector of traces, and a service that fails when it is called the first time.
fn shaky() -> Outside {
    Outside::answering(|path, before| match (path, before) {
        ("/work", 0) => "500 Not Now",
        _ => "200 OK",
    })
}

/// A server that tells the collector, and may call the service.
fn serve(home: &Home, outside: &Outside) -> Server {
    let allow = format!("[actions.http]\nallow = [\"{}\"]\n", outside.place);
    std::fs::write(home.dir.path().join("stepfast.toml"), allow).unwrap();
    let mut command = home.command(&["serve", "--port", "0"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", outside.url(""));
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k");
    Server::spawn(command)
}

fn posted(url: &str, headers: &[(&str, String)], body: &Value) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let request = headers
        .iter()
        .fold(client().post(url), |request, (name, value)| request.header(*name, value))
        .json(body);
    let status = runtime.block_on(async { request.send().await.unwrap().status() });
    assert_eq!(status, 201);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_attempt_is_a_span_of_the_callers_trace() {
    let (home, outside) = (Home::new(), shaky());
    let server = serve(&home, &outside);
    let step = json!({ "action": "http", "arguments": { "url": outside.url("/work") }, "retry_delay_ms": 1 });
    let headers =
        [("traceparent", format!("00-{TRACE}-{SPAN}-01")), ("tracestate", "congo=t61rcWkgMzE".into())];
    posted(&format!("{}/v1/steps", server.url), &headers, &json!({ "steps": [step] }));
    until("both attempts are told", || outside.spans().len() == 2);
    server.stop();
    let mut spans = outside.spans();
    spans.sort_by_key(|span| span.start_time_unix_nano);
    for span in &spans {
        assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.into(), SPAN.into()));
        assert_eq!((span.name.as_str(), span.trace_state.as_str()), ("run http", "congo=t61rcWkgMzE"));
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
    }
    assert_eq!(spans[0].status.as_ref().unwrap().code, 2, "the first failed: {:?}", spans[0].status);
    assert!(spans[1].status.is_none());
    assert_eq!(spans[1].links[0].span_id, spans[0].span_id, "a later attempt follows the one before it");
    assert!(outside.heard_at(TRACES).iter().all(|one| one.headers["api-key"] == "k"));
    let called = outside.heard_at("/work");
    for (headers, span) in called.iter().map(|one| &one.headers).zip(&spans) {
        assert_eq!(headers["traceparent"], format!("00-{TRACE}-{}-01", hex(&span.span_id)));
        assert_eq!(headers["tracestate"], "congo=t61rcWkgMzE");
    }
    assert_eq!(called.len(), 2);
}

#[test]
fn a_workflow_is_one_trace_with_or_without_a_caller() {
    let (home, outside) = (Home::new(), shaky());
    let server = serve(&home, &outside);
    let definition = "workflow: nap\nversion: 1.0.0\nsteps:\n  - {key: one, action: sleep, arguments: {ms: 0}}\n  \
                      - {key: two, action: sleep, arguments: {ms: 0}, after: [one]}\n";
    std::fs::write(home.dir.path().join("nap.yaml"), definition).unwrap();
    home.ok(&["apply", "nap.yaml"]);
    let url = format!("{}/v1/workflows", server.url);
    posted(&url, &[], &json!({ "workflow": "nap" }));
    until("it is told", || outside.spans().len() == 3);
    posted(&url, &[("traceparent", format!("00-{TRACE}-{SPAN}-01"))], &json!({ "workflow": "nap" }));
    posted(&url, &[("traceparent", format!("00-{TRACE}-{SPAN}-00"))], &json!({ "workflow": "nap" }));
    until("the second is told", || outside.spans().len() == 6);
    server.stop();
    let spans = outside.spans();
    assert_eq!(spans.len(), 6, "nobody wants to see the third");
    let (mine, theirs): (Vec<_>, Vec<_>) = spans.iter().partition(|span| hex(&span.trace_id) != TRACE);
    for (spans, above) in [(mine, String::new()), (theirs, SPAN.into())] {
        let whole = spans.iter().find(|span| span.name == "workflow nap").unwrap();
        assert_eq!(hex(&whole.parent_span_id), above);
        let steps: Vec<_> = spans.iter().filter(|span| span.name == "run sleep").collect();
        assert_eq!(steps.len(), 2);
        for step in steps {
            assert_eq!((&step.parent_span_id, &step.trace_id), (&whole.span_id, &whole.trace_id));
        }
    }
}

#[test]
fn a_collector_that_is_away_holds_nothing_back() {
    let home = Home::new();
    let mut command = home.command(&["serve", "--port", "0"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    let server = Server::spawn(command);
    let step = json!({ "action": "sleep", "arguments": { "ms": 0 } });
    posted(&format!("{}/v1/steps", server.url), &[], &json!({ "steps": [step] }));
    until("it is done", || home.states() == ["completed"]);
    server.stop();
}
