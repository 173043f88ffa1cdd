//! What stands outside of a server and is called by it, a collector of traces or whoever is told: it keeps all that it hears.
#![allow(dead_code, clippy::unwrap_used)]

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Where a collector takes traces.
pub const TRACES: &str = "/v1/traces";

/// A request as it came.
#[derive(Clone)]
pub struct Heard {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// The status for a path that was called so often before.
type Answer = fn(&str, usize) -> &'static str;

#[derive(Clone)]
pub struct Outside {
    pub place: String,
    answer: Answer,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Outside {
    /// Everything is taken.
    pub fn glad() -> Outside {
        Outside::answering(|_, _| "200 OK")
    }

    pub fn answering(answer: Answer) -> Outside {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap().to_string();
        let outside = Outside { place, answer, heard: Arc::default() };
        let mine = outside.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mine = mine.clone();
                std::thread::spawn(move || mine.hear(stream));
            }
        });
        outside
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.place)
    }

    /// None where whoever called is gone before it has spoken.
    fn hear(&self, mut stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut lines = reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty());
        let path = lines.next()?.split(' ').nth(1)?.to_string();
        let headers: BTreeMap<String, String> = lines
            .filter_map(|line| {
                line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.into()))
            })
            .collect();
        let mut body = vec![0; headers.get("content-length").map_or(0, |n| n.parse().unwrap())];
        reader.read_exact(&mut body).ok()?;
        let mut heard = self.heard.lock().unwrap();
        let status = (self.answer)(&path, heard.iter().filter(|one| one.path == path).count());
        heard.push(Heard { path, headers, body });
        write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").ok()
    }

    /// All of it, in the order in which it came.
    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    pub fn heard_at(&self, path: &str) -> Vec<Heard> {
        self.heard().into_iter().filter(|one| one.path == path).collect()
    }

    /// What its collector was told.
    pub fn spans(&self) -> Vec<Span> {
        let told = self.heard_at(TRACES).into_iter().map(|one| {
            assert_eq!(one.headers["content-type"], "application/x-protobuf");
            ExportTraceServiceRequest::decode(&*one.body).unwrap()
        });
        let scopes = told.flat_map(|told| told.resource_spans).flat_map(|all| all.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}
