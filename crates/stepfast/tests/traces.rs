//! Traces through the real binary: what a caller began is seen through every attempt, by a collector and by who is called.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, Server, client, until};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

struct Heard {
    path: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// A collector of traces, and a service that fails when it is called the first time.
#[derive(Clone)]
struct Outside {
    place: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Outside {
    fn new() -> Outside {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let outside = Outside { place: listener.local_addr().unwrap().to_string(), heard: Arc::default() };
        let mine = outside.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| mine.hear(stream)));
        outside
    }

    fn hear(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut lines = reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty());
        let path = lines.next().unwrap().split(' ').nth(1).unwrap().to_string();
        let headers: BTreeMap<String, String> = lines
            .map(|line| line.split_once(": ").map(|(n, v)| (n.to_ascii_lowercase(), v.into())).unwrap())
            .collect();
        let mut body = vec![0; headers.get("content-length").map_or(0, |n| n.parse().unwrap())];
        reader.read_exact(&mut body).unwrap();
        let mut heard = self.heard.lock().unwrap();
        let first = !heard.iter().any(|one| one.path == path);
        let status = if path == "/work" && first { "500 Not Now" } else { "200 OK" };
        heard.push(Heard { path, headers, body });
        write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").unwrap();
    }

    fn spans(&self) -> Vec<Span> {
        let heard = self.heard.lock().unwrap();
        let told = heard.iter().filter(|one| one.path == "/v1/traces").map(|one| {
            assert_eq!(one.headers["content-type"], "application/x-protobuf");
            assert_eq!(one.headers["api-key"], "k");
            ExportTraceServiceRequest::decode(&*one.body).unwrap()
        });
        let scopes = told.flat_map(|told| told.resource_spans).flat_map(|all| all.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    fn serve(&self, home: &Home) -> Server {
        let allow = format!("[actions.http]\nallow = [\"{}\"]\n", self.place);
        std::fs::write(home.dir.path().join("stepfast.toml"), allow).unwrap();
        let mut command = home.command(&["serve", "--port", "0"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", self.place));
        command.env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k");
        Server::spawn(command)
    }
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
    let (home, outside) = (Home::new(), Outside::new());
    let server = outside.serve(&home);
    let url = format!("http://{}/work", outside.place);
    let step = json!({ "action": "http", "arguments": { "url": url }, "retry_delay_ms": 1 });
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
    let heard = outside.heard.lock().unwrap();
    let called: Vec<_> = heard.iter().filter(|one| one.path == "/work").map(|one| &one.headers).collect();
    for (headers, span) in called.iter().zip(&spans) {
        assert_eq!(headers["traceparent"], format!("00-{TRACE}-{}-01", hex(&span.span_id)));
        assert_eq!(headers["tracestate"], "congo=t61rcWkgMzE");
    }
    assert_eq!(called.len(), 2);
}

#[test]
fn a_workflow_is_one_trace_with_or_without_a_caller() {
    let (home, outside) = (Home::new(), Outside::new());
    let server = outside.serve(&home);
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
