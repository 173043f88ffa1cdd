//! Notifications through the real binary: configured in its file, tested by its command, verified as the document shows.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A request as a receiver sees it: its headers and its body.
type Heard = Arc<Mutex<Vec<(Value, String)>>>;

fn receiver(answer: &'static str) -> (String, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (place, heard) = (listener.local_addr().unwrap().to_string(), Heard::default());
    let kept = heard.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut headers = json!({});
            let lines = reader.by_ref().lines().map(Result::unwrap);
            for line in lines.take_while(|line| !line.is_empty()).skip(1) {
                let (name, value) = line.split_once(": ").unwrap();
                headers[name.to_ascii_lowercase()] = value.into();
            }
            let mut body = vec![0; headers["content-length"].as_str().unwrap().parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            kept.lock().unwrap().push((headers, String::from_utf8(body).unwrap()));
            let (status, body) = answer.split_once('|').unwrap();
            let head = "Connection: close\r\nContent-Length";
            write!(stream, "HTTP/1.1 {status}\r\n{head}: {}\r\n\r\n{body}", body.len()).unwrap();
        }
    });
    (place, heard)
}

/// One webhook and one chat; what no command prints is in both.
fn configured(home: &Home, place: &str) {
    let keys = "keys = [\"k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"]";
    let text = format!(
        "[secrets]\n{keys}\n[actions.http]\nallow = [\"{place}\"]\n\
         [[notify.channel]]\nname = \"ops\"\nkind = \"webhook\"\nurl = \"http://{place}/hook\"\nsecret = \"{SECRET}\"\nmin_severity = \"medium\"\n\
         [[notify.channel]]\nname = \"room\"\nkind = \"chat\"\nurl = \"http://{place}/T1/CANARY-hunter2\"\nkinds = [\"workflow.*\"]\n"
    );
    std::fs::write(home.dir.path().join("stepfast.toml"), text).unwrap();
}

/// Run the receiver's function of the document over what was heard.
fn verified((headers, body): &(Value, String), secret: &str) -> String {
    let document = include_str!("../../../docs/notifications.md");
    let code = document.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let ask = "\nimport sys\nsecret, headers, body = json.load(sys.stdin)\n\
               try:\n    print(received(secret, headers, body.encode())['type'])\n\
               except ValueError as wrong:\n    print(wrong)\n";
    let mut python = Command::new("python3");
    python.args(["-c", &(code.to_string() + ask)]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = python.spawn().unwrap();
    child.stdin.take().unwrap().write_all(json!([secret, headers, body]).to_string().as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

fn all_verbs(home: &Home, heard: &Heard) {
    let told = home.ok(&["notify", "test"]);
    assert!(
        told.contains("ops: the receiver answered 200 in ")
            && told.contains("room: the receiver answered 200"),
        "{told}"
    );
    assert!(told.contains(": thanks"), "{told}");
    let refused = home.fails(1, &["notify", "test", "ops", "--severity", "low"]);
    assert!(refused.contains("ops: refused: it takes nothing below `medium`"), "{refused}");
    let told = home.fails(3, &["notify", "test", "nobody"]);
    assert!(told.contains("there is no channel `nobody`"), "{told}");
    let told = home.fails(3, &["notify", "test", "ops", "--severity", "loud"]);
    assert!(told.contains("write one of low, medium, high, critical"), "{told}");
    let tried = &home.json(&["notify", "test", "ops", "--severity", "critical", "--json"])[0];
    assert_eq!(
        (&tried["became"], &tried["arrived"], &tried["attempt"]["delivery"]["http_code"]),
        (&json!("sent"), &json!(true), &json!(200))
    );
    let listed = home.json(&["notify", "list", "--json"]);
    assert_eq!((listed.len(), &listed[0]["told"], &listed[1]["url"]), (2, &json!(2), &json!("[secret]")));
    let table = home.ok(&["notify", "list"]);
    assert!(
        table.contains("workflow.*") && !table.contains("CANARY") && !table.contains("whsec_"),
        "{table}"
    );
    let heard = heard.lock().unwrap().clone();
    let hook = heard.iter().find(|(headers, _)| headers["webhook-signature"].is_string()).unwrap();
    assert_eq!(verified(hook, SECRET), "stepfast.channel.test\n");
    assert_eq!(verified(hook, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), "not signed with our secret\n");
    let (headers, mut body) = hook.clone();
    body.push(' ');
    assert_eq!(verified(&(headers, body), SECRET), "not signed with our secret\n");
}

#[test]
fn channels_are_tested_and_listed_without_a_server() {
    let home = Home::new();
    let (place, heard) = receiver("200 OK|thanks");
    configured(&home, &place);
    all_verbs(&home, &heard);
    home.ok(&["check"]);
}

#[test]
fn what_fails_is_told_by_a_server() {
    let home = Home::new();
    let (place, heard) = receiver("200 OK|thanks");
    configured(&home, &place);
    let server = home.serve(&[]);
    all_verbs(&home, &heard);
    heard.lock().unwrap().clear();
    home.ok(&["steps", "create", "--action", "fail", "--arguments", r#"{"message": "no money"}"#]);
    until("it is told", || !heard.lock().unwrap().is_empty());
    let (_, body) = heard.lock().unwrap()[0].clone();
    let event: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(event["type"], "stepfast.step.failed");
    assert!(event["data"]["text"].as_str().unwrap().contains("no money"), "{event}");
    home.ok(&["notify", "remove", "room"]);
    assert_eq!(home.json(&["notify", "list", "--json"]).len(), 1);
    server.stop();
    home.ok(&["check"]);
}

#[test]
fn a_receiver_that_refuses_is_told_and_the_exit_code_says_so() {
    let home = Home::new();
    let (place, _) = receiver("500 Oh|broken");
    configured(&home, &place);
    let told = home.fails(1, &["notify", "test", "room"]);
    assert!(
        told.contains("room: ") && told.contains(" 500 in ") && told.contains("stepfast steps attempts"),
        "{told}"
    );
    assert!(!told.contains("CANARY"), "{told}");
}

#[test]
fn faults_of_the_file_are_told_before_anything_starts() {
    let home = Home::new();
    let text = "[[notify.channel]]\nname = \"ops\"\nkind = \"webhook\"\nurl = \"https://example.com\"\nsecret = \"CANARY\"\nper_minut = 3\n";
    std::fs::write(home.dir.path().join("stepfast.toml"), text).unwrap();
    let told = home.fails(3, &["notify", "list"]);
    assert!(
        told.contains("notify.channel ops: per_minut is not a setting; did you mean `per_minute`?"),
        "{told}"
    );
    assert!(!told.contains("CANARY"), "{told}");
}

#[test]
fn no_log_shows_a_secret() {
    let home = Home::new();
    let (place, _) = receiver("500 Oh|broken");
    configured(&home, &place);
    let output = home.command(&["notify", "test"]).env("RUST_LOG", "debug").output().unwrap();
    let said = common::text(&output.stdout) + &common::text(&output.stderr);
    assert!(said.contains("DEBUG") && said.contains("room: "), "{said}");
    for secret in ["CANARY", SECRET.strip_prefix("whsec_").unwrap()] {
        assert!(!said.contains(secret), "{said}");
    }
}
