//! The example worker before a server of the test's own making, which refuses a report and takes a step away.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::until;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};

/// Every call so far, in order.
type Calls = Arc<Mutex<Vec<(String, Value)>>>;

struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn read(stream: &mut BufReader<TcpStream>) -> (String, Value) {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    let call = line.split_whitespace().nth(1).unwrap().rsplit('/').next().unwrap().to_string();
    let mut bytes = 0;
    while line.trim() != "" {
        line.clear();
        stream.read_line(&mut line).unwrap();
        if let Some(length) = line.to_lowercase().strip_prefix("content-length:") {
            bytes = length.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; bytes];
    stream.read_exact(&mut body).unwrap();
    (call, serde_json::from_slice(&body).unwrap())
}

/// Two steps at first, and nothing after them. The first report of `refused` is refused, those of `lost` are not heard until a
/// heartbeat has been told that it is somebody else's.
fn answer(calls: &[(String, Value)]) -> Option<(u16, Value)> {
    let (call, body) = calls.last().unwrap();
    let claim = |step: &str| json!({"step": step, "attempt": 1, "action": "greet", "arguments": {}});
    Some(match call.as_str() {
        "claim" if body["session"].is_null() => {
            let claims = [claim("refused"), claim("lost")];
            (200, json!({"session": "mine", "number": 1, "claims": claims}))
        }
        "claim" => return None,
        "heartbeat" => (200, json!({"lost": [{"step": "lost", "attempt": 1}]})),
        _ if body["reports"][0]["step"] == "lost" => (503, json!({})),
        _ if body["reports"][0]["outcome"] == "complete" => {
            (200, json!({"answers": [{"answer": "refused", "detail": "too good"}]}))
        }
        _ => (200, json!({"answers": [{"answer": "applied"}]})),
    })
}

fn serve(listener: TcpListener, calls: &Calls) {
    let mut waiting = Vec::new();
    for stream in listener.incoming() {
        let mut stream = BufReader::new(stream.unwrap());
        let (call, body) = read(&mut stream);
        let mut calls = calls.lock().unwrap();
        calls.push((call, body));
        match answer(&calls) {
            // Whoever asks for more work waits for it.
            None => waiting.push(stream),
            Some((status, body)) => {
                let body = body.to_string();
                let head =
                    format!("HTTP/1.1 {status} So\r\nConnection: close\r\nContent-Length: {}", body.len());
                write!(stream.get_mut(), "{head}\r\n\r\n{body}").unwrap();
            }
        }
    }
}

#[test]
fn it_drops_what_is_lost_and_fails_what_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let calls = Calls::default();
    let theirs = calls.clone();
    std::thread::spawn(move || serve(listener, &theirs));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/worker.py");
    let worker = Process(Command::new("python3").arg(script).arg(&url).spawn().expect("python3 is there"));
    let beats = || calls.lock().unwrap().iter().filter(|(call, _)| call == "heartbeat").count();
    until("it has beaten twice", || beats() == 2);
    drop(worker);
    let calls = calls.lock().unwrap();
    let of = |step: &'static str| move |(_, body): &&(String, Value)| body["reports"][0]["step"] == step;
    let refused: Vec<&Value> = calls.iter().filter(of("refused")).map(|(_, b)| &b["reports"][0]).collect();
    assert_eq!((&refused[0]["outcome"], &refused[1]["outcome"]), (&json!("complete"), &json!("fail")));
    assert_eq!((refused.len(), &refused[1]["message"]), (2, &json!("its report was refused: too good")));
    let first = calls.iter().position(|(call, _)| call == "heartbeat").unwrap();
    assert_eq!(calls[first].1["held"], json!([{"step": "lost", "attempt": 1}]));
    assert!(calls[..first].iter().filter(of("lost")).count() > 1, "it was reported until it was lost");
    assert!(calls[first..].iter().filter(of("lost")).count() <= 1, "but for one on its way, no more");
    assert_eq!(calls.last().unwrap().1["held"], json!([]));
}
